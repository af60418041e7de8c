/**
 * The sounds of a scene, derived from its contents: which things of the sound engine sound, how near, and how their
 * loudness follows the light; and which sounds happen at the exact moment of a visible event.
 */
import type { Thing } from '../../image/lexicon.ts';
import { launchTimes } from '../firework-parts.ts';
import { strikesOf } from '../lightning.ts';
import type { WorldStage } from '../world-stage.ts';

/** A sound that is continuous, or repeats by itself. */
export interface Voice {
  /** A name of the sound engine's lexicon; a name that it does not know is silent. */
  readonly name: string;
  /** 0.4 light to 2 heavy. */
  readonly weight: number;
  readonly metres: number;
  /** A factor at a share of the video, 0 to 1. */
  readonly gain: (share: number) => number;
}

/** A sound at a moment that the image determines. */
export interface Event {
  readonly name: string;
  /** Seconds of the video at which it begins to sound. */
  readonly at: number;
  readonly gain: number;
}

const always = (gain: number) => (): number => gain;

/** A voice by night, or by day: its level follows the light. */
function byLight(world: WorldStage, gain: number, isOfNight: boolean): (share: number) => number {
  const [first, , last] = world.palettes;
  const from = first.isDark === isOfNight ? 1 : 0;
  const to = last.isDark === isOfNight ? 1 : 0;
  return (share) => gain * (from + (to - from) * Math.max(0, Math.min(1, share * 1.6 - 0.3)));
}

/** All continuous sounds of a world. */
export function voicesOf(world: WorldStage): readonly Voice[] {
  const { composition } = world;
  const { mentions, weather, setting, ground, season, water, absent } = composition;
  const voices: Voice[] = [];
  const add = (name: string, gain: number | Voice['gain'], weight = 0.8, metres = 4): void => {
    voices.push({ name, weight, metres, gain: typeof gain === 'number' ? always(gain) : gain });
  };
  const has = (...things: Thing[]): boolean => things.some((thing) => mentions.has(thing));
  if (setting === 'space') return voices;
  if (setting === 'undersea') {
    add('under water', 0.9);
    add('bubble', 0.35, 0.6, 6);
    return voices;
  }
  const isStormy = weather.has('storm');
  const isOutdoors = setting === 'land' || setting === 'water';
  if (weather.has('rain') || isStormy) add('rain', isStormy ? 0.95 : 0.75, isStormy ? 1.5 : 0.9);
  if (weather.has('snow') && weather.has('wind')) add('howling wind', 0.6);
  if (isOutdoors)
    add(
      'wind',
      isStormy ? 0.9 : weather.has('wind') ? 0.8 : has('desert', 'mountain') ? 0.42 : 0.24,
      isStormy ? 1.5 : 0.8,
    );
  if (has('forest', 'tree') && !isStormy && season !== 'winter') add('rustling', 0.3, 0.7, 8);
  if (setting === 'water') {
    if (water === 'sea') add('wave', isStormy ? 1 : 0.7, isStormy ? 1.4 : 0.8, has('beach') ? 6 : 14);
    else add('stream', 0.22, 0.5, 14);
  }
  if (has('river')) add('river', 0.5, 0.7, 9);
  if (has('waterfall')) add('waterfall', 0.6, 0.9, 16);
  if (has('campfire')) add('fire', 0.8, 0.9, 2);
  if (has('volcano')) add('earthquake', 0.45, 1, 40);
  if (has('city')) add('traffic', 0.5, 0.8, 40);
  if (has('train')) add('train', 0.6, 0.9, 20);
  if (has('car')) add('car', 0.4, 0.8, 10);
  if (has('owl')) add('owl', 0.6, 0.8, 12);
  if (has('wolf')) add('wolf', 0.5, 0.8, 40);
  if (has('sheep')) add('sheep', 0.35, 0.8, 20);
  if (has('cow')) add('cow', 0.35, 0.8, 20);
  if (has('horse', 'unicorn')) add('horse', 0.3, 0.8, 12);
  const isMild = !isStormy && !weather.has('rain') && !weather.has('snow') && season !== 'winter';
  const isGreen = ground === 'meadow' || ground === 'forest' || has('forest', 'tree', 'blossom');
  if (has('bird') || (isMild && isGreen && !absent.has('bird') && setting === 'land')) {
    const isAtSea = setting === 'water' && water === 'sea';
    const gain = has('bird') ? 0.6 : 0.4;
    add(isAtSea ? 'seagull' : 'bird', isAtSea ? gain : byLight(world, gain, false), 0.7, isAtSea ? 16 : 9);
  }
  if (isMild && isGreen && setting === 'land' && !has('city')) add('cricket', byLight(world, 0.4, true), 0.7, 8);
  return voices.filter(({ gain }) => gain(0) > 0 || gain(1) > 0);
}

/** What can be seen and heard in one shot. @param from the shot's beginning and end, in seconds of the video. */
export function eventsOf(world: WorldStage, from: number, to: number): readonly Event[] {
  const { weather, mentions } = world.composition;
  const events: Event[] = [];
  if (weather.has('storm')) {
    for (const { at, far } of strikesOf(world.stage.random)) {
      if (from + at >= to) break;
      // A third of a second to one and a half: 110 to 500 metres.
      events.push({ name: 'thunder', at: from + at + 0.3 + far * 1.2, gain: 1 - 0.55 * far });
    }
  }
  const fireworks = mentions.get('firework');
  if (fireworks !== undefined) {
    for (const at of launchTimes(world.stage, fireworks.count, to - from)) {
      events.push({ name: 'firework', at: from + at, gain: 0.5 });
    }
  }
  return events;
}
