// SPDX-License-Identifier: Apache-2.0
//
// One text makes one job: its key stays the same until the text changes or an answer has come, so a
// second click and a retry after a lost connection find the job that there is.
import { ApiError, type Submitted } from '../../api/client';

export class Submission {
  private text = '';
  private key = '';
  private underWay: Promise<Submitted> | null = null;

  constructor(
    private readonly send: (text: string, key: string) => Promise<Submitted>,
    private readonly newKey: () => string = () => crypto.randomUUID(),
  ) {}

  submit(text: string): Promise<Submitted> {
    if (this.underWay && text === this.text) return this.underWay;
    if (this.key === '' || text !== this.text) this.key = this.newKey();
    this.text = text;
    const key = this.key;
    const request = this.send(text, key)
      .then((answer) => { this.answered(key); return answer; })
      .catch((error: unknown) => {
        if (error instanceof ApiError && error.status >= 400 && error.status < 500) this.answered(key);
        throw error;
      })
      .finally(() => { if (this.underWay === request) this.underWay = null; });
    this.underWay = request;
    return request;
  }

  private answered(key: string): void {
    if (this.key === key) this.key = '';
  }
}
