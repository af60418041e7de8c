/**
 * Animals that stand on four legs, in profile: built from one set of proportions each. Drawn facing right in a square
 * whose side is their height, the head a little above it.
 */
import { css, hex } from '../colour.ts';
import { at, fillEllipse } from '../draw.ts';
import type { DrawThing } from '../stage.ts';
import { coatOf, drawLeg, drawTail, drawTrunk } from './walker-bodies.ts';
import type { Walker } from './walker-bodies.ts';
import { drawNeck, drawHead, drawExtra } from './walker-heads.ts';

/** An animal that stands on four legs. */
function standing(kind: Walker): DrawThing {
  return (stage, foot, size, look) => {
    const { leg, deep, half } = kind;
    const frame = {
      belly: -leg,
      back: -leg - deep,
      nape: { x: half * 0.82 + kind.neck[0], y: -leg - deep - kind.neck[1] + deep * 0.2 },
    };
    at(stage.context, foot, size, look.facing, () => {
      const { context } = stage;
      const coat = coatOf(stage, look.colour ?? hex(kind.coat), look.depth);
      const isDarkLegged = kind.marks === 'panda';
      const near = { leg: isDarkLegged ? coat.dark : coat.form, hoof: coat.dark };
      const far = { leg: isDarkLegged ? coat.dark : coat.shade, hoof: coat.dark };
      fillEllipse(context, { x: 0, y: 0 }, half * 1.15, 0.025, css(stage.palette.land, 0.3));
      drawLeg(context, kind, frame, -half * 0.5, true, far);
      drawLeg(context, kind, frame, half * 0.8, false, far);
      drawTail(context, kind, frame, coat);
      drawTrunk(context, kind, frame, coat);
      drawNeck(context, kind, frame, coat);
      drawHead(context, kind, frame, coat);
      drawExtra(stage, kind, frame, coat, look.depth);
      drawLeg(context, kind, frame, -half * 0.7, true, near);
      drawLeg(context, kind, frame, half * 0.56, false, near);
    });
  };
}

export const drawHorse = standing({
  coat: '#8a5233',
  leg: 0.44,
  deep: 0.27,
  half: 0.4,
  neck: [0.15, 0.24, 0.17],
  head: [0.24, 0.13],
  tail: 'hair',
  extra: 'mane',
});

export const drawUnicorn = standing({
  coat: '#f4f0f5',
  leg: 0.44,
  deep: 0.27,
  half: 0.4,
  neck: [0.15, 0.24, 0.17],
  head: [0.24, 0.13],
  tail: 'hair',
  extra: 'horn',
});

export const drawDeer = standing({
  coat: '#a56b3f',
  leg: 0.44,
  deep: 0.22,
  half: 0.3,
  neck: [0.1, 0.2, 0.12],
  head: [0.18, 0.1],
  tail: 'short',
  extra: 'antlers',
  thick: 0.8,
});

export const drawBear = standing({
  coat: '#5d4230',
  leg: 0.32,
  deep: 0.48,
  half: 0.56,
  neck: [0.06, 0.02, 0.34],
  head: [0.3, 0.24],
  tail: 'short',
  extra: 'stocky',
  thick: 1.9,
});

export const drawCow = standing({
  coat: '#efe6da',
  leg: 0.38,
  deep: 0.38,
  half: 0.52,
  neck: [0.12, 0.06, 0.2],
  head: [0.26, 0.17],
  tail: 'tuft',
  extra: 'spots',
  thick: 1.15,
});

export const drawSheep = standing({
  coat: '#f3eee3',
  leg: 0.32,
  deep: 0.44,
  half: 0.42,
  neck: [0.08, 0.04, 0.18],
  head: [0.22, 0.17],
  tail: 'short',
  extra: 'wool',
});

export const drawLion = standing({
  coat: '#d6a152',
  leg: 0.38,
  deep: 0.32,
  half: 0.5,
  neck: [0.08, 0.12, 0.24],
  head: [0.22, 0.2],
  tail: 'tuft',
  extra: 'big-mane',
  thick: 1.25,
});

export const drawElephant = standing({
  coat: '#8d8b93',
  leg: 0.36,
  deep: 0.48,
  half: 0.5,
  neck: [0.12, 0, 0.3],
  head: [0.26, 0.26],
  tail: 'tuft',
  extra: 'trunk',
  thick: 1.9,
});

export const drawCamel = standing({
  coat: '#c99a5f',
  leg: 0.48,
  deep: 0.26,
  half: 0.38,
  neck: [0.24, 0.22, 0.12],
  head: [0.2, 0.11],
  tail: 'tuft',
  extra: 'hump',
  thick: 0.95,
});

export const drawTiger = standing({
  coat: '#e08a35',
  leg: 0.38,
  deep: 0.31,
  half: 0.54,
  neck: [0.08, 0.06, 0.24],
  head: [0.22, 0.21],
  tail: 'tuft',
  extra: 'cat',
  marks: 'stripes',
  thick: 1.3,
});

export const drawPanda = standing({
  coat: '#f1ede4',
  leg: 0.3,
  deep: 0.5,
  half: 0.54,
  neck: [0.06, 0.04, 0.36],
  head: [0.28, 0.27],
  tail: 'short',
  extra: 'stocky',
  marks: 'panda',
  thick: 2,
});

export const drawZebra = standing({
  coat: '#f4f0e8',
  leg: 0.44,
  deep: 0.27,
  half: 0.38,
  neck: [0.15, 0.22, 0.18],
  head: [0.22, 0.13],
  tail: 'hair',
  extra: 'mane',
  marks: 'stripes',
});

export const drawGiraffe = standing({
  coat: '#e3b767',
  leg: 0.4,
  deep: 0.2,
  half: 0.21,
  neck: [0.15, 0.4, 0.1],
  head: [0.13, 0.075],
  tail: 'tuft',
  extra: 'ossicones',
  marks: 'patches',
  thick: 0.62,
});
