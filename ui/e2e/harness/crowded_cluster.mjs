// SPDX-License-Identifier: Apache-2.0
//
// A small Kubernetes cluster where much waits, each for a reason of its own: 24 GPUs in use or scattered, eight on a cordoned node,
// four behind a taint.
import { eventually } from './waiting.mjs';

const a100 = 'NVIDIA-A100-SXM4-80GB';
const product = (name) => ({ 'nvidia.com/gpu.product': name });

export async function crowd(plane) {
  const node = (name, gpus, model, more = {}) => plane.do('node', { name, gpus, labels: product(model), ...more });
  for (const name of ['gpu-01', 'gpu-02', 'gpu-03', 'gpu-04']) await node(name, 8, a100);
  await node('infra-01', 4, 'Tesla-T4', { taints: [{ key: 'dedicated', value: 'infra', effect: 'NoSchedule' }] });
  for (const name of ['vision', 'speech']) await plane.do('namespace', name);

  const on = (host) => ({ nodeSelector: { 'kubernetes.io/hostname': host } });
  const pod = (namespace, name, gpus, more = {}) => plane.do('pod', { name, namespace, gpus, ...more });
  for (const [name, host] of [['detector-train', 'gpu-01'], ['segment-train', 'gpu-02'], ['depth-train', 'gpu-03']]) await pod('vision', name, 6, { ...on(host), cpu: 8, memory: '64Gi' });
  await pod('speech', 'notebook-ada', 1, on('gpu-04'));
  await plane.do('running', 'vision', ['detector-train', 'segment-train', 'depth-train']);
  await plane.do('running', 'speech', ['notebook-ada']);
  await plane.do('patch', 'Node', 'gpu-04', { spec: { unschedulable: true } }); // somebody repairs it

  await pod('vision', 'label-server', 4, on('infra-01')); // behind a taint
  await pod('speech', 'asr-large', 8, { cpu: 16, memory: '128Gi' }); // no node has so many free
  await pod('speech', 'tts-h100', 8, { nodeSelector: product('NVIDIA-H100-80GB-HBM3') }); // nobody has such a GPU
  await plane.do('create', job('vision', 'sweep', 4, { parallelism: 3, completions: 3 }, { nodeSelector: product(a100) })); // six are free, two on each node
  await plane.do('create', { kind: 'ResourceQuota', metadata: { name: 'gpus', namespace: 'speech' }, spec: { hard: { 'requests.nvidia.com/gpu': '20' } } });
  await eventually('the quota is counted', async () => (await plane.do('get', 'ResourceQuota', 'gpus', 'speech')).status?.used?.['requests.nvidia.com/gpu'] === '17');
  await plane.do('create', job('speech', 'over-quota', 8)); // its pods are not even made
}

function job(namespace, name, gpus, more = {}, pod = {}) {
  const container = { name: 'main', image: 'trainer', resources: { limits: { 'nvidia.com/gpu': String(gpus) }, requests: { cpu: '4', memory: '16Gi' } } };
  return { kind: 'Job', metadata: { name, namespace }, spec: { ...more, template: { spec: { restartPolicy: 'Never', containers: [container], ...pod } } } };
}

// Ids by name, once all of them are explained.
export async function explained(server, names) {
  const ids = {};
  await eventually(`${names.join(', ')} are explained`, async () => {
    for (const { id, name, waits, phase } of (await server.get('/v1/jobs?limit=1000')).jobs)
      if (phase !== 'queued' || (waits && waits.constraint !== 'not_seen_yet')) ids[name] = id;
    return names.every((name) => ids[name] !== undefined);
  }, { timeout: 60_000 });
  return ids;
}
