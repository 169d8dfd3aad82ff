// SPDX-License-Identifier: Apache-2.0
//
// What the server says is missing, source by source: "pods as of 12:00: no answer; nodes as of ...".

export interface TroubleText {
  first: string;
  rest: string[]; // of the other sources
}

export function troubleText(trouble: string): TroubleText {
  const [first = '', ...rest] = trouble.split('; ').map((part) => part.trim()).filter((part) => part !== '');
  return { first, rest };
}
