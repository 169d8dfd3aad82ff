// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { amountText, supplyPath } from './energy_text';

describe('energy', () => {
  it('has grams by the thousand as kilograms', () => {
    expect(amountText(340, 'g CO2')).toBe('340 g CO2');
    expect(amountText(1234, 'g CO2')).toBe('1.23 kg CO2');
    expect(amountText(1234, 'EUR')).toBe('1,234 EUR');
    expect(amountText(undefined, 'EUR')).toBe('–');
  });
  it('draws the supply in steps, from the left edge to the right', () => {
    const hours = [0, 1].map((hour) => ({ at: new Date(hour * 3_600_000).toISOString(), per_kwh: 100 * (hour + 1) }));
    expect(supplyPath(hours, 240, 36)).toBe('M0,18 L120,18 L120,1 L240,1');
    expect(supplyPath(hours.slice(1), 240, 36)).toBe('');
  });
});
