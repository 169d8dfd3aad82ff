// SPDX-License-Identifier: Apache-2.0
//
// Short words about what was just done, at the edge of the page. They are read out, and go by themselves.

export interface Notice {
  id: number;
  kind: 'done' | 'failed';
  text: string;
}

class Notices {
  list = $state<Notice[]>([]);
  private next = 1;

  done(text: string): void { this.add('done', text, 6000); }
  failed(text: string): void { this.add('failed', text, 15_000); }
  dismiss(id: number): void { this.list = this.list.filter((notice) => notice.id !== id); }

  private add(kind: Notice['kind'], text: string, ms: number): void {
    const id = this.next++;
    this.list = [...this.list.slice(-3), { id, kind, text }];
    setTimeout(() => this.dismiss(id), ms);
  }
}

export const notices = new Notices();
