// SPDX-License-Identifier: Apache-2.0
import { figureText } from '../../text/numbers';

// "1.2 kg CO2", "340 g CO2", "12 EUR"
export function amountText(amount: number | undefined, unit: string): string {
  if (amount === undefined) return '–';
  return unit === 'g CO2' && Math.abs(amount) >= 1000 ? `${figureText(amount / 1000)} kg CO2` : `${figureText(amount)} ${unit}`;
}

// The steps of the supply as the path of a chart of that size; nothing without two of them.
export function supplyPath(hours: readonly { at: string; per_kwh: number }[], width: number, height: number): string {
  if (hours.length < 2) return '';
  const times = hours.map((hour) => Date.parse(hour.at));
  const most = Math.max(...hours.map((hour) => hour.per_kwh), 1e-12);
  const end = times[times.length - 1]! + (times[times.length - 1]! - times[times.length - 2]!);
  const x = (time: number) => ((time - times[0]!) / (end - times[0]!)) * width;
  const y = (value: number) => height - 1 - (value / most) * (height - 2);
  const round = (value: number) => Math.round(value * 10) / 10;
  return hours.map((hour, i) => `${i === 0 ? 'M' : 'L'}${round(x(times[i]!))},${round(y(hour.per_kwh))} L${round(x(times[i + 1] ?? end))},${round(y(hour.per_kwh))}`).join(' ');
}
