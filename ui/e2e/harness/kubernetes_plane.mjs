// SPDX-License-Identifier: Apache-2.0
//
// A real Kubernetes control plane on loopback, with kwok for the kubelets: tests/kubernetes/driven_plane.py, told what to do line by
// line.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { root } from './weir_server.mjs';

const servers = path.join(root, 'build/kubernetes/bin');

// Before any test of the file: ends it as skipped where the servers are not built.
export function needKubernetes() {
  if (existsSync(path.join(servers, 'kube-apiserver'))) return;
  console.log('skipped: build/kubernetes/bin has no kube-apiserver (tests/kubernetes/build_servers.sh builds it; make test-kubernetes does)');
  process.exit(77);
}

export class KubernetesPlane {
  static async start() {
    const plane = new KubernetesPlane();
    plane.kubeconfig = (await plane.answer()).kubeconfig;
    return plane;
  }

  constructor() {
    this.process = spawn('python3', [path.join(root, 'tests/kubernetes/driven_plane.py')], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.gone = new Promise((resolve) => this.process.once('exit', resolve));
    this.lines = createInterface({ input: this.process.stdout })[Symbol.asyncIterator]();
  }

  async answer() {
    const { value, done } = await this.lines.next();
    assert.ok(!done, 'the control plane has ended');
    return JSON.parse(value);
  }

  // As driven_plane.py says: await plane.do('pod', { name: 'a', gpus: 4 }).
  async do(...command) {
    this.process.stdin.write(`${JSON.stringify(command)}\n`);
    const { done, failed } = await this.answer();
    assert.equal(failed, undefined, `${JSON.stringify(command).slice(0, 300)}: ${failed}`);
    return done;
  }

  // A command as the page offers it, in a shell that has kubectl.
  run(command) {
    return execFileSync('/bin/bash', ['-c', `set -o pipefail; ${command}`], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, PATH: `${servers}:${process.env.PATH}`, KUBECONFIG: this.kubeconfig } });
  }

  async close() {
    this.process.stdin.end();
    await this.gone;
  }
}
