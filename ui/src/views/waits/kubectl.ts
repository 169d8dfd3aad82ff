// SPDX-License-Identifier: Apache-2.0
//
// Commands to copy.

// As one word of a shell, whatever it holds.
export function shellWord(text: string): string {
  return /^[A-Za-z0-9_./:=@%+-]+$/.test(text) && !text.startsWith('-') ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

export function logsCommand(namespace: string, pod: string): string {
  return `kubectl logs -n ${shellWord(namespace)} ${shellWord(pod)}`;
}
