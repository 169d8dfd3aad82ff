// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import { indent, newLine, outdent, type Edit } from './indentation';

function applied(text: string, edit: Edit): string {
  const made = text.slice(0, edit.from) + edit.text + text.slice(edit.to);
  return `${made.slice(0, edit.selectFrom)}<${made.slice(edit.selectFrom, edit.selectTo)}>${made.slice(edit.selectTo)}`;
}

test('Tab goes to the next even column', () => {
  expect(applied('ab', indent('ab', 2, 2))).toBe('ab  <>');
  expect(applied('x\nabc', indent('x\nabc', 5, 5))).toBe('x\nabc <>');
});

test('Tab and Shift+Tab move the lines of a selection', () => {
  const text = 'a\nbb\n\nc\n';
  const edit = indent(text, 2, 7);
  expect(applied(text, edit)).toBe('a\n  <bb\n\n  c>\n');
  const moved = 'a\n  bb\n c\n';
  expect(applied(moved, outdent(moved, 3, 9))).toBe('a\n<bb\nc>\n');
  expect(applied('  a', outdent('  a', 3, 3))).toBe('a<>');
});

test('a selection that ends before a line leaves that line', () => {
  expect(applied('a\nb\n', indent('a\nb\n', 0, 2))).toBe('  <a\n>b\n');
});

test('Enter keeps the depth', () => {
  expect(applied('a:\n  b', newLine('a:\n  b', 6, 6))).toBe('a:\n  b\n  <>');
});
