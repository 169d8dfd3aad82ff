// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import contract from '../../../docs/openapi.yaml?raw';
import { causeText, constraintNames, constraintText } from './constraints';

test('every constraint that the server may name has words of its own', () => {
  const described = /constraint: \{type: string, description: "([^"]+)\."\}/.exec(contract)?.[1] ?? '';
  const names = described.split(/, | or /);
  expect(names.length).toBeGreaterThan(20);
  expect([...constraintNames].sort()).toEqual([...names].sort());
  expect(new Set(names.map(constraintText)).size).toBe(names.length);
});

test('a name that is newer than the page is shown in words', () => {
  expect(constraintText('lunar_phase')).toBe('Lunar phase');
  expect(constraintText('<b>')).toBe('<b>');
  expect(constraintText('constructor')).toBe('Constructor');
  expect(causeText('')).toBe('Unknown');
  expect(causeText('cpu')).toBe('No CPU beside them');
});
