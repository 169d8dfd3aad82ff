// SPDX-License-Identifier: Apache-2.0
//
// A real `weir serve` with a state folder of its own. It can be killed as a power cut would, and started
// again on the same port; jobs outlive it, so `close` ends them first.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createWriteStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually } from './waiting.mjs';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..');
export const programs = path.resolve(process.env.WEIR_BIN ?? path.join(root, 'build/release/bin'));

const over = ['finished', 'failed', 'cancelled', 'refused'];

export class WeirServer {
  // `kubeconfig`: it observes that cluster. `clusterFile`: the text of one, in the place of `cluster`. `arguments_`: more of the command line, for example ['--rescale', '0s'].
  static async start({ cluster = '4x2xCPU', clusterFile, kubeconfig, arguments_ = kubeconfig ? [] : ['--rescale', '0s'], program = 'weir', patience } = {}) {
    const server = new WeirServer(cluster, arguments_, program);
    server.kubeconfig = kubeconfig;
    server.patience = patience; // ms to start; default: as for all waiting
    if (clusterFile) writeFileSync(server.cluster = path.join(server.folder, 'cluster.yaml'), clusterFile);
    await server.launch(0);
    return server;
  }

  constructor(cluster, arguments_, program) {
    this.folder = mkdtempSync(path.join(tmpdir(), 'weir-page-'));
    this.state = path.join(this.folder, 'state');
    this.log = path.join(this.folder, 'server.log');
    this.cluster = cluster;
    this.arguments = arguments_;
    this.program = program;
    this.process = null;
    this.url = '';
  }

  get token() { return readFileSync(path.join(this.state, 'token'), 'utf8').trim(); }
  get port() { return Number(new URL(this.url).port); }
  get isRunning() { return this.process !== null; }
  get environment() {
    return { ...process.env, WEIR_STATE: this.state, XDG_CONFIG_HOME: this.folder };
  }

  async launch(port) {
    assert.ok(!this.process, 'the server runs already');
    const before = this.url === '' ? '' : this.urlWritten();
    const output = createWriteStream(this.log, { flags: 'a' });
    await new Promise((resolve) => output.once('open', resolve));
    const child = spawn(path.join(programs, this.program), this.commandLine(port),
      { cwd: root, env: this.environment, stdio: ['ignore', output, output] });
    output.end();
    this.process = child;
    let failure = '';
    child.once('error', (error) => { failure = String(error); });
    child.once('exit', (code, signal) => {
      if (this.process === child) this.process = null;
      failure ||= `it ended with ${signal ?? code}`;
    });
    await eventually(`${this.program} answers`, async () => {
      if (failure) throw new Error(`${this.program} did not start: ${failure}\n${this.logText()}`);
      this.url = this.urlWritten();
      return this.url !== '' && (port === 0 || before !== '') && (await this.answers());
    }, { finalErrors: true, timeout: this.patience });
  }

  commandLine(port) {
    const given = this.kubeconfig ? ['serve', '--engine', 'kubernetes', '--mode', 'observe', '--kubeconfig', this.kubeconfig]
      : this.program === 'weir' ? ['serve', '--cluster', this.cluster] : [];
    return [...given, '--state', this.state, '--port', String(port), ...this.arguments];
  }

  urlWritten() {
    try {
      return readFileSync(path.join(this.state, 'url'), 'utf8').trim();
    } catch {
      return '';
    }
  }

  async answers() {
    try {
      return (await fetch(`${this.url}/healthz`)).status === 200;
    } catch {
      return false;
    }
  }

  logText() {
    try {
      return readFileSync(this.log, 'utf8');
    } catch {
      return '';
    }
  }

  // As a power cut: nothing is said to anybody.
  async kill(signal = 'SIGKILL') {
    const child = this.process;
    if (!child) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await gone;
  }

  restart() { return this.launch(this.port); }

  // Ends the jobs, the server and what they have written.
  async close() {
    if (this.program === 'weir' && !this.kubeconfig) {
      if (!this.process && this.url) await this.restart();
      if (this.process) await this.cancelAll();
    }
    await this.kill('SIGTERM');
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  async cancelAll() {
    const live = async () => (await this.get('/v1/jobs?limit=1000')).jobs.filter(({ phase }) => !over.includes(phase));
    for (const { id } of await live()) await this.call(`/v1/jobs/${id}/cancel`, { method: 'POST' });
    await eventually('all jobs are over', async () => (await live()).length === 0);
    // Their processes, too, have time to leave.
    await eventually('no GPU is in use', async () => (await this.get('/v1/nodes')).nodes.every((node) => node.in_use === 0));
  }

  call(address, request = {}) {
    return fetch(this.url + address, {
      ...request, headers: { Authorization: `Bearer ${this.token}`, ...request.headers },
    });
  }

  async get(address) {
    const answer = await this.call(address);
    assert.equal(answer.status, 200, `GET ${address}: ${answer.status}`);
    return answer.json();
  }

  // Gives the job as the server answered it; a refusal is an answer, too.
  async submit(document) {
    const answer = await this.call('/v1/jobs', {
      method: 'POST', body: JSON.stringify(document), headers: { 'Content-Type': 'application/json' },
    });
    const body = await answer.json();
    assert.ok(answer.status === 201 || (answer.status === 422 && body.id), `submit: ${answer.status} ${JSON.stringify(body)}`);
    return body;
  }

  job(job) { return this.get(`/v1/jobs/${job}`); }

  // Waits until the server says so of a job, and gives it.
  async jobWhen(job, what, holds) {
    let latest;
    await eventually(`job ${job} ${what}`, async () => holds(latest = await this.job(job)), { describe: () => JSON.stringify(latest) });
    return latest;
  }
  running(job) { return this.jobWhen(job, 'runs', ({ phase }) => phase === 'running'); }
  isOver(job) { return this.jobWhen(job, 'is over', ({ phase }) => over.includes(phase)); }
}
