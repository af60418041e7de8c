/**
 * From a reading of the prompt to the stage of a world: a scene as the image engine composes it, with space around it
 * for the camera.
 */
import { compose, placeLight } from '../image/composition.ts';
import type { Composition } from '../image/composition.ts';
import type { TimeOfDay } from '../image/lexicon.ts';
import { choosePalette } from '../image/palette.ts';
import type { Palette } from '../image/palette.ts';
import type { PromptReading } from '../image/prompt-reading.ts';
import type { Random } from '@darkroom/seeded-random/random';
import type { Stage } from '../image/stage.ts';
import { MARGIN } from './camera.ts';
import type { View } from './camera.ts';
import type { VideoSize } from './video-size.ts';
import { brightest } from './light-transition.ts';
import type { Palettes } from './light-transition.ts';

/** Area of a frame in square units, whatever its shape: the image engine's. */
const AREA = 1_000_000;

/** How one shot differs from the others of its video. */
export interface Framing {
  /** Another arrangement of the same things. */
  readonly name: string;
  /** How large things are. */
  readonly size: number;
  /** Moves the horizon down, as a fraction of the height. */
  readonly horizon: number;
}

/** The colours of the video's first time of day, and of its last if it differs. */
export interface LightChange {
  readonly time: TimeOfDay;
  readonly until: TimeOfDay;
}

export interface WorldStage {
  /** Its palette is the brightest. */
  readonly stage: Omit<Stage, 'context'>;
  readonly composition: Composition;
  readonly view: Omit<View, 'camera'>;
  readonly palettes: Palettes;
}

/** Composes the world of one shot. @param light undefined: as the prompt or chance decides, for the whole video. */
export function stageWorld(
  reading: PromptReading,
  options: {
    readonly size: VideoSize;
    readonly framing: Framing;
    readonly light: LightChange | undefined;
    readonly random: Random;
  },
): WorldStage {
  const { size, framing, light, random } = options;
  const scale = Math.sqrt((size.width * size.height) / AREA);
  const frame = { width: size.width / scale, height: size.height / scale };
  // Time, season and additions belong to the video; the positions of things belong to the shot.
  const composed = compose(reading, random.fork('composition'));
  const mentions = new Map(
    [...composed.mentions].map(([thing, mention]) => [thing, { ...mention, scale: mention.scale * framing.size }]),
  );
  // Ground close by takes at least a third of the image, and on the moon there is nothing else.
  const lowest = composed.setting === 'space' ? 0.66 : 0.7;
  const ownHorizon = Math.max(0.42, Math.min(lowest, composed.horizon + framing.horizon));
  // A very tall sky over a strip of land would be empty: the land takes the part above about twice its width.
  const share = Math.max(ownHorizon, 1 - (1.4 * frame.width) / frame.height);
  const width = frame.width * (1 + 2 * MARGIN.side);
  const height = frame.height * (1 + MARGIN.top + MARGIN.bottom);
  const horizon = frame.height * (share + MARGIN.top);
  const composition: Composition = { ...composed, mentions, horizon: horizon / height };
  const times = light ?? { time: composed.time, until: composed.time };
  const paletteOf = (time: TimeOfDay): Palette =>
    inSpace(composition, choosePalette(reading, time, composed.season, random.fork('palette')));
  const palettes = lightTransitionBetween(times, paletteOf);
  const palette = brightest(palettes);
  const time = palette === palettes[2] ? times.until : times.time;
  const arranged = random.fork(framing.name);
  const lamp = placeLight({ ...composed, horizon: share, time }, frame, arranged.fork('light'));
  const stage = {
    width,
    height,
    scale,
    horizon,
    palette,
    light: { ...lamp, x: lamp.x + frame.width * MARGIN.side, y: lamp.y + frame.height * MARGIN.top },
    time,
    season: composition.season,
    weather: composition.weather,
    style: reading.style,
    isFlat: reading.style === 'minimal',
    random: arranged.fork('stage'),
  };
  return {
    stage,
    composition: { ...composition, time },
    view: {
      width: size.width,
      height: size.height,
      left: frame.width * MARGIN.side * scale,
      top: frame.height * MARGIN.top * scale,
      focus: (width / 2 + (arranged.fork('focus').next() - 0.5) * frame.width * 0.24) * scale,
      horizon: horizon * scale,
    },
    palettes,
  };
}

/** By way of the low sun if day and night meet, else half-way. */
function lightTransitionBetween({ time, until }: LightChange, paletteOf: (time: TimeOfDay) => Palette): Palettes {
  const first = paletteOf(time);
  if (time === until) return [first, first, first];
  const last = paletteOf(until);
  if (first.isDark === last.isDark) return [first, first.isDark ? first : paletteOf('noon'), last];
  const low: TimeOfDay = last.isDark ? 'sunset' : 'dawn';
  return [first, time === low ? paletteOf('dusk') : paletteOf(low), last];
}

function inSpace(composition: Composition, palette: Palette): Palette {
  return composition.setting === 'space' ? { ...palette, light: [232, 236, 246] } : palette;
}
