// SPDX-License-Identifier: Apache-2.0
//
// The server's time, once a second: "in 5 min" must not depend on this machine's clock.

class Clock {
  now = $state(Date.now()); // milliseconds
  private ahead = 0; // the server's clock minus ours

  constructor() {
    setInterval(() => { this.now = Date.now() + this.ahead; }, 1000);
  }

  // `sent` and `received` are of this machine, `server` is what the server's clock said in between.
  adjust(server: number, sent: number, received: number): void {
    const ahead = server - (sent + received) / 2;
    if (Math.abs(ahead - this.ahead) > (received - sent) / 2 + 20) this.ahead = ahead;
    this.now = Date.now() + this.ahead;
  }
}

export const clock = new Clock();
