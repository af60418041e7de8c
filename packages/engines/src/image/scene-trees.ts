/**
 * The trees of a scene that stand singly on its grounds, and the colour of each kind in its light.
 */
import { hex, mix } from './colour.ts';
import type { Colour } from './colour.ts';
import type { Composition } from './composition.ts';
import { drawBroadleaf, drawCactus, drawConifer, drawPalm } from './layers/trees.ts';
import type { TreeLook } from './layers/trees.ts';
import type { PlacingGround } from './placement.ts';
import type { Point, Stage } from './stage.ts';

export const TREE_KINDS = ['pine', 'tree', 'blossom', 'palm', 'cactus'] as const;

type TreeKind = (typeof TREE_KINDS)[number];

/** In logical units, close by. */
const TREE_HEIGHTS: Record<TreeKind, number> = { pine: 270, tree: 300, blossom: 290, palm: 330, cactus: 190 };

/** Leaves of a kind in this season and light; the prompt's colour if it names one. */
export function treeColour(stage: Stage, kind: TreeKind, colour: Colour | undefined): Colour {
  const { palette } = stage;
  if (colour !== undefined) return mix(colour, palette.land, palette.isDark ? 0.6 : 0.12);
  if (kind === 'blossom') return mix(hex('#f2a3bd'), palette.land, palette.isDark ? 0.45 : 0.04);
  if (kind === 'pine' && stage.season === 'autumn') {
    return mix(hex('#3a5c48'), palette.land, palette.isDark ? 0.75 : 0.25);
  }
  return mix(palette.foliage, palette.land, 0.18);
}

function drawTree(stage: Stage, kind: TreeKind, position: Point, size: number, look: TreeLook): void {
  if (kind === 'pine') drawConifer(stage, position, size, look);
  else if (kind === 'palm') drawPalm(stage, position, size, look);
  else if (kind === 'cactus') drawCactus(stage, position, size, look);
  else drawBroadleaf(stage, position, size, look, kind === 'blossom');
}

/** A single tree stands at the freest position, close by; of several, some stand there and some further away. */
export function paintTrees(stage: Stage, composition: Composition, ground: PlacingGround): void {
  const { surface, room } = ground;
  const wide = surface.right - surface.left;
  const isFar = surface.depth > 0.1;
  for (const kind of TREE_KINDS) {
    const mention = composition.mentions.get(kind);
    if (mention === undefined) continue;
    const random = stage.random.fork(`${kind} ${surface.depth}`);
    const look = { colour: treeColour(stage, kind, mention.colour), depth: surface.depth * 0.8, random };
    const height = TREE_HEIGHTS[kind] * surface.scale * mention.scale;
    if (mention.count === 1 && kind !== 'pine' && kind !== 'cactus') {
      if (isFar && composition.setting === 'land') continue;
      const candidates = [0.28, 0.72, 0.2, 0.8, 0.5].map((share) => surface.left + wide * share);
      const x = room.take(candidates, height * 0.2);
      drawTree(stage, kind, { x, y: surface.yAt(x) + 6 }, height * 1.3, look);
      continue;
    }
    const count = Math.round((isFar ? 7 : 4) + mention.count * 0.7);
    for (let index = 0; index < count; index++) {
      const edge = random.chance(0.5) ? random.between(0, 0.3) : random.between(0.7, 1);
      const x = surface.left + wide * (isFar ? random.next() : edge);
      const size = height * random.between(0.55, 1.1);
      if (room.isFree(x, size * 0.06))
        drawTree(stage, kind, { x, y: surface.yAt(x) + random.between(4, 16) }, size, look);
    }
  }
}

/** Small groups of bushes and trees on open land, so that it has a sense of scale. */
export function paintCopses(stage: Stage, ground: PlacingGround): void {
  const { surface, room } = ground;
  const random = stage.random.fork('copses');
  const colour = treeColour(stage, 'tree', undefined);
  for (let group = 0; group < 6; group++) {
    const centre = random.between(surface.left, surface.right);
    for (let index = 0; index < 4; index++) {
      const x = centre + random.between(-44, 44);
      const size = random.between(16, 40);
      const position = { x, y: surface.yAt(x) + random.between(0, 12) };
      if (room.isFree(x, size)) drawBroadleaf(stage, position, size, { colour, depth: surface.depth, random });
    }
  }
}
