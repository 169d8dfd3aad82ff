// SPDX-License-Identifier: Apache-2.0
//
// Pictures of the page of a server that observes a small, crowded Kubernetes cluster: docs/images/page/observe-*.
// tools/observe_screenshots.sh starts this.
import path from 'node:path';
import { Chromium } from './harness/chromium.mjs';
import { crowd, explained } from './harness/crowded_cluster.mjs';
import { KubernetesPlane, needKubernetes } from './harness/kubernetes_plane.mjs';
import { takePictures } from './harness/pictures.mjs';
import { root, WeirServer } from './harness/weir_server.mjs';

needKubernetes();

const folder = path.resolve(process.argv[2] ?? path.join(root, 'docs/images/page'));
const workMinutes = 3; // so that the charts have something to show

// What has run for some seconds each: from that the server learns how long pods take.
async function playWork(plane) {
  for (let i = 1; i <= 6; ++i) {
    const name = `eval-step-${i}000`;
    await plane.do('pod', { name, namespace: 'vision', gpus: 2, nodeSelector: { 'kubernetes.io/hostname': `gpu-0${1 + (i % 3)}` } });
    await plane.do('running', 'vision', [name]);
    await new Promise((resolve) => setTimeout(resolve, (workMinutes * 60_000) / 6));
    await plane.do('patch', 'Pod', name, { status: { phase: 'Succeeded' } }, 'vision', 'status');
  }
}

const plane = await KubernetesPlane.start();
let server, chromium;
try {
  await crowd(plane);
  server = await WeirServer.start({ kubeconfig: plane.kubeconfig });
  await playWork(plane);
  const waiting = ['vision/label-server', 'speech/asr-large', 'speech/tts-h100'];
  const ids = await explained(server, waiting);
  console.log('the cluster is crowded');
  chromium = await Chromium.launch(['--force-color-profile=srgb']);
  await takePictures(chromium, server, {
    'observe-overview': { address: '/?range=15m' },
    'observe-pods': { address: '/jobs' },
    'observe-pod': { address: `/jobs/${ids['speech/asr-large']}`, isLong: true },
  }, { folder, mostBytes: 0.8e6, isOurs: (file) => file.startsWith('observe-') });
} finally {
  await chromium?.close();
  await server?.close();
  await plane.close();
}
