// SPDX-License-Identifier: Apache-2.0
import { notices } from '../state/notices.svelte';

// To the clipboard, and says so.
export async function copyText(text: string, what: string): Promise<void> {
  if (await isCopied(text)) notices.done(`Copied: ${what}.`);
  else notices.failed('This browser does not let the page copy. Select the text and copy it.');
}

async function isCopied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return isCopiedTheOldWay(text); // browsers have no clipboard for pages that come over plain HTTP
  }
}

function isCopiedTheOldWay(text: string): boolean {
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'sr-only';
  document.body.append(field);
  field.select();
  const isDone = document.execCommand('copy');
  field.remove();
  return isDone;
}
