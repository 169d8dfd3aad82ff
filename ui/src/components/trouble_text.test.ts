// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import { troubleText } from './trouble_text';

test('the first source is told, the others on demand', () => {
  expect(troubleText('')).toEqual({ first: '', rest: [] });
  expect(troubleText('pods as of 12:00: no answer')).toEqual({ first: 'pods as of 12:00: no answer', rest: [] });
  expect(troubleText('pods as of 12:00; nodes cannot be read: 403; jobs as of 12:01')).toEqual({ first: 'pods as of 12:00', rest: ['nodes cannot be read: 403', 'jobs as of 12:01'] });
});
