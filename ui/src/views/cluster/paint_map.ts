// SPDX-License-Identifier: Apache-2.0
//
// Draws the part of the map that is in sight: cells of one colour together, then what stands out.
import type { ClusterModel } from './cluster_model';
import { closed, meaning, onClosed } from './cell_colours';
import { cellBox, columnsOf, nodeBox, type Box, type MapLayout } from './map_layout';

export interface Look { // colours as the theme has them
  cells: readonly string[]; // by meaning
  text: string;
  muted: string;
  line: string;
  surface: string;
  accent: string;
  focus: string;
  hatch: string; // over free cells
  hatchInUse: string;
}

export interface Picture {
  model: ClusterModel;
  layout: MapLayout;
  codes: Uint8Array;
  look: Look;
  lit: Uint8Array | null; // 1: stands out, all others fade; null: none does
  selectedNode: number; // -1: none
  cursor: number; // a cell; -1: none
  pointed: number; // a cell; -1: none
  top: number; // of what is in sight
  height: number;
  poolText(pool: number): string; // beside the pool's name
  cellText(cell: number): string; // within large cells: the job's name
}

const faded = 0.25;
const leastNumbered = 26; // cells that have room for their number
const leastTold = 60; // and for the job's name
const lineHeight = 14;
const fades = 128; // added to the code of a cell that does

export function paint(ctx: CanvasRenderingContext2D, picture: Picture): void {
  const { layout, top, height } = picture;
  ctx.clearRect(0, 0, layout.width, height);
  ctx.save();
  ctx.translate(0, -top);
  for (let i = 0; i < layout.pools.length; ++i) paintHead(ctx, picture, i);
  const nodes = nodesInSight(picture);
  paintCells(ctx, picture, nodes);
  paintNames(ctx, picture, nodes);
  if (layout.cell >= leastNumbered) paintTexts(ctx, picture, nodes);
  outlines(ctx, picture);
  ctx.restore();
}

function nodesInSight({ layout, top, height }: Picture): number[] {
  const nodes: number[] = [];
  for (const pool of layout.pools) {
    const firstRow = Math.max(0, Math.floor((top - pool.bodyTop) / pool.stepY));
    const lastRow = Math.floor((top + height - pool.bodyTop) / pool.stepY);
    const end = Math.min(pool.endNode, pool.firstNode + (lastRow + 1) * pool.perRow);
    for (let node = pool.firstNode + firstRow * pool.perRow; node < end; ++node) nodes.push(node);
  }
  return nodes;
}

// The cells of each code, then each code at once: changing the colour is what costs.
function paintCells(ctx: CanvasRenderingContext2D, { model, layout, codes, look, lit }: Picture, nodes: readonly number[]): void {
  const byCode = new Map<number, number[]>(); // x and y in turn
  const hatched: number[] = [];
  const hatchedInUse: number[] = [];
  for (const node of nodes) {
    const first = model.firstCell[node];
    const end = model.firstCell[node + 1];
    if (end === first) continue;
    const begin = cellBox(layout, model, first);
    const columns = columnsOf(end - first);
    for (let cell = first; cell < end; ++cell) {
      const x = begin.x + ((cell - first) % columns) * layout.pitch;
      const y = begin.y + Math.floor((cell - first) / columns) * layout.pitch;
      const code = (codes[cell] & meaning) + (lit && !lit[cell] ? fades : 0);
      const places = byCode.get(code);
      if (places) places.push(x, y);
      else byCode.set(code, [x, y]);
      if (codes[cell] === closed) hatched.push(x, y);
      else if (codes[cell] >= onClosed) hatchedInUse.push(x, y);
    }
  }
  for (const [code, places] of byCode) {
    ctx.globalAlpha = code >= fades ? faded : 1;
    ctx.fillStyle = look.cells[code & meaning] ?? look.line;
    fillCells(ctx, places, layout.cell);
  }
  ctx.globalAlpha = 1;
  hatchCells(ctx, hatched, layout.cell, look.hatch);
  hatchCells(ctx, hatchedInUse, layout.cell, look.hatchInUse);
}

function fillCells(ctx: CanvasRenderingContext2D, places: readonly number[], size: number): void {
  if (size < 12) {
    for (let i = 0; i < places.length; i += 2) ctx.fillRect(places[i], places[i + 1], size, size);
    return;
  }
  ctx.beginPath();
  for (let i = 0; i < places.length; i += 2) ctx.roundRect(places[i], places[i + 1], size, size, size < 24 ? 2 : 4);
  ctx.fill();
}

function hatchCells(ctx: CanvasRenderingContext2D, places: readonly number[], size: number, colour: string): void {
  const step = size < 12 ? 3 : size < 40 ? 5 : 8;
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1;
  ctx.globalAlpha = size < leastNumbered ? 1 : 0.45; // texts are to be read
  ctx.beginPath();
  for (let i = 0; i < places.length; i += 2) {
    const [x, y] = [places[i], places[i + 1]];
    for (let along = step; along < 2 * size; along += step) {
      const begin = Math.min(along, size);
      const end = Math.max(0, along - size);
      ctx.moveTo(x + end, y + begin);
      ctx.lineTo(x + begin, y + end);
    }
  }
  ctx.stroke();
  ctx.globalAlpha = 1;
}

function paintHead(ctx: CanvasRenderingContext2D, { model, layout, look, poolText, top, height }: Picture, pool: number): void {
  const y = layout.pools[pool].top + 15;
  if (y < top - 10 || y > top + height + 20) return;
  ctx.textBaseline = 'alphabetic';
  ctx.fillStyle = look.text;
  ctx.font = '600 13px system-ui, "DejaVu Sans", sans-serif';
  ctx.fillText(model.pools[pool].name, layout.left, y);
  const after = layout.left + ctx.measureText(model.pools[pool].name).width + 10;
  ctx.fillStyle = look.muted;
  ctx.font = '12px system-ui, "DejaVu Sans", sans-serif';
  ctx.fillText(poolText(pool), after, y);
}

function paintNames(ctx: CanvasRenderingContext2D, picture: Picture, nodes: readonly number[]): void {
  const { model, layout, look } = picture;
  ctx.textBaseline = 'alphabetic';
  ctx.font = '11px system-ui, "DejaVu Sans", sans-serif';
  for (const pool of layout.pools) {
    if (!pool.hasNames) continue;
    for (const node of nodes) {
      if (node < pool.firstNode || node >= pool.endNode) continue;
      const box = nodeBox(layout, node);
      ctx.fillStyle = model.nodes[node].up ? look.text : look.muted;
      ctx.fillText(fitted(ctx, model.nodes[node].name, box.width), box.x, box.y + 11);
    }
  }
}

// Which GPU it is and whose, in the large cells of a small cluster.
function paintTexts(ctx: CanvasRenderingContext2D, { model, layout, codes, look, lit, cellText }: Picture, nodes: readonly number[]): void {
  const inset = layout.cell < 40 ? 5 : 8;
  ctx.textBaseline = 'alphabetic';
  ctx.font = '11px system-ui, "DejaVu Sans", sans-serif';
  for (const node of nodes) {
    for (let cell = model.firstCell[node]; cell < model.firstCell[node + 1]; ++cell) {
      const box = cellBox(layout, model, cell);
      ctx.globalAlpha = lit && !lit[cell] ? faded : 1;
      ctx.fillStyle = (codes[cell] & meaning) <= closed ? look.muted : readableOn(look.cells[codes[cell] & meaning] ?? look.line);
      ctx.fillText(String(cell - model.firstCell[node]), box.x + inset, box.y + inset + 9);
      if (layout.cell < leastTold) continue;
      const lines = folded(ctx, cellText(cell), box.width - 2 * inset);
      lines.forEach((line, i) => ctx.fillText(line, box.x + inset, box.y + box.height - inset - 1 - (lines.length - 1 - i) * lineHeight));
    }
  }
  ctx.globalAlpha = 1;
}

// Black or white, whichever stands out more on a colour like "#3f74c9".
export function readableOn(colour: string): string {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? '#0b1115' : '#ffffff';
}

// Cut with an ellipsis where it is too long. Measuring takes longer than drawing: each name is measured once,
// and not at all where it fits in any case.
const widestLetter = 9; // on average, at 11 pixels
const lengths = new Map<string, string>();
export function fitted(ctx: Pick<CanvasRenderingContext2D, 'measureText'>, name: string, width: number): string {
  if (name.length * widestLetter <= width) return name;
  const key = `${width}:${name}`;
  let text = lengths.get(key);
  if (text !== undefined) return text;
  text = name;
  for (let length = name.length - 1; length > 0 && ctx.measureText(text).width > width; --length) text = `${name.slice(0, length)}…`;
  if (lengths.size > 20_000) lengths.clear();
  lengths.set(key, text);
  return text;
}

// In two lines, where it is too long for one and has a place to break: "speech-", "large".
export function folded(ctx: Pick<CanvasRenderingContext2D, 'measureText'>, name: string, width: number): string[] {
  if (fitted(ctx, name, width) === name) return [name];
  const breaks = [...name.matchAll(/[-_./ ]+/g)].map((match) => match.index + match[0].length).filter((at) => at < name.length);
  const at = breaks.findLast((place) => fitted(ctx, name.slice(0, place), width) === name.slice(0, place));
  return at === undefined ? [fitted(ctx, name, width)] : [name.slice(0, at), fitted(ctx, name.slice(at), width)];
}

function outlines(ctx: CanvasRenderingContext2D, { model, layout, look, selectedNode, cursor, pointed }: Picture): void {
  if (selectedNode >= 0 && selectedNode < model.nodes.length) {
    const box = nodeBox(layout, selectedNode);
    ctx.strokeStyle = look.accent;
    ctx.lineWidth = 2;
    outline(ctx, box, layout.cell < 12 ? 2 : 4);
  }
  if (pointed >= 0 && pointed < model.nodeOfCell.length) {
    ctx.strokeStyle = look.text;
    ctx.lineWidth = 1.5;
    outline(ctx, cellBox(layout, model, pointed), 0.75);
  }
  if (cursor >= 0 && cursor < model.nodeOfCell.length) {
    ctx.strokeStyle = look.surface;
    ctx.lineWidth = 4;
    outline(ctx, cellBox(layout, model, cursor), 1.5);
    ctx.strokeStyle = look.focus;
    ctx.lineWidth = 2;
    outline(ctx, cellBox(layout, model, cursor), 1.5);
  }
}

function outline(ctx: CanvasRenderingContext2D, box: Box, beyond: number): void {
  ctx.beginPath();
  ctx.roundRect(box.x - beyond, box.y - beyond, box.width + 2 * beyond, box.height + 2 * beyond, 3);
  ctx.stroke();
}
