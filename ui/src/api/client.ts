// SPDX-License-Identifier: Apache-2.0
//
// One function for each call of the control plane that the page makes. An answer that is no success
// becomes an ApiError, which carries the server's own words.
import type {
  ClusterNode, DryRun, Energy, History, Job, JobPage, NodeChange, Observation, Overview, Problem, Progress, Story,
} from './types';

export class ApiError extends Error {
  constructor(
    readonly status: number, // 0: the server could not be reached
    readonly problem: Problem,
  ) {
    super(problem.detail ?? problem.title);
  }
  get isUnreachable(): boolean { return this.status === 0; }
  get isSignedOut(): boolean { return this.status === 401; }
}

export interface LogChunk {
  text: Uint8Array;
  generation: number;
  offset: number;
  next: number;
  isOver: boolean;
}

export type Submitted = { accepted: true; job: Job } | { accepted: false; job: Job };

type Body = { type: 'application/yaml' | 'application/json'; text: string };

const longestAnswer = 20_000; // ms; a request that takes longer is given up

export class ApiClient {
  constructor(
    private readonly token: string,
    private readonly send: typeof fetch = (...request) => fetch(...request),
    private readonly within?: AbortSignal,
  ) {}

  // The same, but what is asked ends with the signal.
  until(signal: AbortSignal): ApiClient { return new ApiClient(this.token, this.send, signal); }

  headers(): Record<string, string> {
    return { Authorization: `Bearer ${this.token}` };
  }

  overview(): Promise<Overview> { return this.json('/v1/overview'); }
  history(seconds: number): Promise<History> { return this.json(`/v1/history?seconds=${Math.round(seconds)}`); }
  observation(): Promise<Observation> { return this.json('/v1/observation'); }
  energy(): Promise<Energy> { return this.json('/v1/energy'); }
  async nodes(): Promise<ClusterNode[]> { return (await this.json<{ nodes: ClusterNode[] }>('/v1/nodes')).nodes; }

  jobs(query: { after?: number; limit?: number; name?: string; phase?: string; changed_after?: number }): Promise<JobPage> {
    const given = Object.entries(query).filter(([, value]) => value !== undefined);
    return this.json(`/v1/jobs?${new URLSearchParams(given.map(([key, value]) => [key, String(value)]))}`);
  }
  job(job: string | number): Promise<Job> { return this.json(jobPath(job)); }
  document(job: string | number): Promise<Record<string, unknown>> { return this.json(jobPath(job, '/document')); }
  story(job: string | number): Promise<Story> { return this.json(jobPath(job, '/story')); }
  progress(job: string | number): Promise<Progress> { return this.json(jobPath(job, '/progress')); }
  cancel(job: string | number): Promise<Job> { return this.json(jobPath(job, '/cancel'), { method: 'POST' }); }

  drain(node: string): Promise<NodeChange> { return this.changeNode(node, 'drain'); }
  undrain(node: string): Promise<NodeChange> { return this.changeNode(node, 'undrain'); }

  dryRun(body: Body, signal?: AbortSignal): Promise<DryRun> {
    return this.json('/v1/dry-run', { method: 'POST', ...sent(body), signal });
  }

  // A refusal is an answer too: the job says why, and which deadline could be promised.
  async submit(body: Body, idempotencyKey: string): Promise<Submitted> {
    const { headers, ...rest } = sent(body);
    const answer = await this.request('/v1/jobs', {
      method: 'POST', ...rest, headers: { ...headers, 'Idempotency-Key': idempotencyKey },
    }, [422]);
    const isJob = answer.headers.get('Content-Type')?.startsWith('application/json') ?? false;
    if (!answer.ok && !isJob) throw new ApiError(answer.status, await problemOf(answer));
    return { accepted: answer.ok, job: (await answer.json()) as Job };
  }

  async log(job: string | number, place: { rank?: number; generation?: number; offset?: number; limit?: number }, signal?: AbortSignal): Promise<LogChunk> {
    const given = Object.entries(place).filter(([, value]) => value !== undefined);
    const query = new URLSearchParams(given.map(([key, value]) => [key, String(value)]));
    const answer = await this.request(`${jobPath(job, '/logs')}?${query}`, { signal });
    const number = (name: string) => Number(answer.headers.get(name) ?? 0);
    return {
      text: new Uint8Array(await answer.arrayBuffer()),
      generation: number('X-Weir-Generation'),
      offset: number('X-Weir-Offset'),
      next: number('X-Weir-Next-Offset'),
      isOver: answer.headers.get('X-Weir-Over') === 'true',
    };
  }

  // The body of an answer that goes on: server-sent events.
  stream(path: string, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
    return this.request(path, { headers, signal, cache: 'no-store' }, [], 0);
  }

  private changeNode(node: string, change: 'drain' | 'undrain'): Promise<NodeChange> {
    return this.json(`/v1/nodes/${encodeURIComponent(node)}/${change}`, { method: 'POST' });
  }

  private async json<T>(path: string, request: RequestInit = {}): Promise<T> {
    const answer = await this.request(path, request);
    return (await answer.json()) as T;
  }

  private async request(path: string, request: RequestInit, alsoFine: number[] = [], patience = longestAnswer): Promise<Response> {
    const tooLong = new AbortController(); // also for a body that does not come
    if (patience > 0) setTimeout(() => tooLong.abort(new DOMException('no answer', 'TimeoutError')), patience);
    const signals = [tooLong.signal, request.signal, this.within].filter((signal) => signal instanceof AbortSignal);
    let answer: Response;
    try {
      answer = await this.send(path, { ...request, signal: AbortSignal.any(signals), headers: { ...this.headers(), ...request.headers } });
    } catch (error) {
      if (error instanceof DOMException && error.name === 'AbortError') throw error;
      throw new ApiError(0, { type: 'about:blank', title: 'The server does not answer', status: 0,
        detail: 'The server does not answer. Is `weir serve` running?' });
    }
    if (answer.ok || alsoFine.includes(answer.status)) return answer;
    throw new ApiError(answer.status, await problemOf(answer));
  }
}

function sent(body: Body): { body: string; headers: Record<string, string> } {
  return { body: body.text, headers: { 'Content-Type': body.type } };
}

export function jobPath(job: string | number, rest = ''): string {
  return `/v1/jobs/${encodeURIComponent(String(job))}${rest}`;
}

async function problemOf(answer: Response): Promise<Problem> {
  try {
    const problem = (await answer.json()) as Problem;
    if (typeof problem.title === 'string') return problem;
  } catch {
    // Not ours: a proxy, perhaps.
  }
  return { type: 'about:blank', title: `The server answered ${answer.status}`, status: answer.status };
}
