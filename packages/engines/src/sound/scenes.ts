/**
 * Places and moments that are several things at once: a forest has birds, leaves and wind. A scene is read like a thing
 * and heard as its parts, each at its usual level relative to the others.
 */
import type { Change } from './prompt-words.ts';
import type { RoomName } from './thing.ts';

/** Several things under one name. */
export interface Scene {
  readonly names: readonly string[];
  /** Names of things, and the properties of each in the scene. */
  readonly parts: readonly (readonly [string, Change])[];
  readonly room?: RoomName;
}

export const SCENES: readonly Scene[] = [
  {
    names: ['storm', 'thunderstorm', 'tempest', 'monsoon', 'thunder storm'],
    parts: [
      ['rain', { weight: 1.5 }],
      ['wind', { weight: 0.9 }],
      ['thunder', {}],
    ],
    room: 'canyon',
  },
  {
    names: ['forest', 'woods', 'woodland', 'morning forest', 'forest ambience', 'nature', 'spring', 'park'],
    parts: [
      ['bird', { weight: 0.8 }],
      ['rustling', { weight: 0.45 }],
      ['wind', { weight: 0.4 }],
    ],
    room: 'forest',
  },
  {
    names: ['jungle', 'rainforest', 'tropical', 'amazon', 'tropical forest'],
    parts: [
      ['bird', { pitch: 0.9 }],
      ['cicada', { weight: 0.6 }],
      ['frog', { weight: 0.5, distance: 14 }],
      ['drip', { weight: 0.4 }],
    ],
    room: 'forest',
  },
  {
    names: ['night', 'summer night', 'night time', 'nighttime', 'evening', 'midnight', 'campsite'],
    parts: [
      ['cricket', { weight: 0.8 }],
      ['owl', { weight: 0.5, distance: 30 }],
      ['wind', { weight: 0.35 }],
    ],
    room: 'forest',
  },
  {
    names: ['swamp', 'marsh', 'pond life', 'wetland', 'bayou'],
    parts: [
      ['frog', {}],
      ['cricket', { weight: 0.6 }],
      ['bubble', { weight: 0.4, distance: 8 }],
      ['mosquito', { weight: 0.4 }],
    ],
    room: 'forest',
  },
  {
    names: ['meadow', 'summer day', 'countryside', 'garden ambience', 'field of flowers'],
    parts: [
      ['bird', {}],
      ['bee', { weight: 0.4 }],
      ['rustling', { weight: 0.35 }],
      ['cricket', { weight: 0.35 }],
    ],
    room: 'outdoors',
  },
  {
    names: ['farm', 'farmyard', 'barnyard', 'barn', 'village'],
    parts: [
      ['rooster', { distance: 14 }],
      ['cow', { distance: 14 }],
      ['sheep', { distance: 10 }],
      ['duck', { weight: 0.6 }],
      ['bird', { weight: 0.5 }],
    ],
    room: 'outdoors',
  },
  {
    names: ['harbor', 'harbour', 'port', 'marina', 'dock', 'pier'],
    parts: [
      ['wave', { weight: 0.6 }],
      ['seagull', {}],
      ['foghorn', { weight: 0.6, distance: 60 }],
      ['creak', { weight: 0.4, distance: 14 }],
    ],
    room: 'outdoors',
  },
  {
    names: ['sailing ship', 'pirate ship', 'sailboat', 'galleon', 'sailing'],
    parts: [
      ['wave', {}],
      ['creak', { weight: 0.7 }],
      ['wind', { weight: 0.6 }],
      ['flag', { weight: 0.4 }],
    ],
    room: 'outdoors',
  },
  {
    names: ['city', 'urban', 'downtown', 'metropolis', 'city street', 'new york', 'tokyo', 'london'],
    parts: [
      ['traffic', {}],
      ['crowd', { weight: 0.4, distance: 18 }],
      ['horn', { weight: 0.5, distance: 28 }],
      ['siren', { weight: 0.4, distance: 90 }],
    ],
    room: 'outdoors',
  },
  {
    names: ['cafe', 'coffee shop', 'restaurant', 'bar', 'pub', 'bistro', 'diner', 'cafeteria', 'coffeehouse'],
    parts: [
      ['crowd', {}],
      ['clink', { weight: 0.5 }],
      ['steam', { weight: 0.4, distance: 9 }],
    ],
    room: 'room',
  },
  {
    names: ['office', 'workplace', 'open office', 'call center'],
    parts: [
      ['typing', {}],
      ['fan', { weight: 0.45 }],
      ['crowd', { weight: 0.4, distance: 14 }],
      ['telephone', { weight: 0.4, distance: 25 }],
    ],
    room: 'room',
  },
  {
    names: ['train station', 'railway station', 'airport', 'terminal', 'mall', 'shopping mall', 'lobby'],
    parts: [
      ['crowd', { weight: 0.8 }],
      ['footstep', { weight: 0.5 }],
      ['train', { weight: 0.5, distance: 40 }],
    ],
    room: 'hall',
  },
  {
    names: ['battle', 'war', 'battlefield', 'warzone', 'combat', 'war zone'],
    parts: [
      ['explosion', { distance: 18 }],
      ['machine gun', { weight: 0.7, distance: 25 }],
      ['gunshot', { weight: 0.7, distance: 10 }],
      ['helicopter', { weight: 0.5, distance: 50 }],
    ],
    room: 'canyon',
  },
  {
    names: ['medieval battle', 'knights', 'gladiators', 'duel', 'viking battle', 'castle siege'],
    parts: [
      ['sword', {}],
      ['gallop', { weight: 0.7, distance: 12 }],
      ['crowd cheering', { weight: 0.5, distance: 25 }],
    ],
    room: 'outdoors',
  },
  {
    names: ['dungeon', 'crypt', 'tomb', 'catacombs', 'prison'],
    parts: [
      ['drip', {}],
      ['chain', { weight: 0.5 }],
      ['dark ambient', { weight: 0.5 }],
    ],
    room: 'cave',
  },
  {
    names: ['cave', 'cavern', 'grotto'],
    parts: [
      ['drip', {}],
      ['wind', { weight: 0.35 }],
    ],
    room: 'cave',
  },
  {
    names: ['winter', 'arctic', 'antarctica', 'mountain top', 'summit', 'tundra'],
    parts: [['howling wind', {}]],
    room: 'canyon',
  },
  {
    names: ['desert'],
    parts: [
      ['howling wind', { weight: 0.7, pitch: 0.85 }],
      ['cricket', { weight: 0.35 }],
    ],
    room: 'outdoors',
  },
  {
    names: ['laboratory', 'lab', 'mad scientist', 'science lab'],
    parts: [
      ['bubble', {}],
      ['electricity', { weight: 0.5 }],
      ['robot', { weight: 0.4 }],
    ],
    room: 'room',
  },
  {
    names: ['cockpit', 'bridge of a spaceship', 'spaceship bridge', 'control room', 'mission control'],
    parts: [
      ['spaceship', {}],
      ['robot', { weight: 0.45 }],
      ['sonar', { weight: 0.35 }],
    ],
    room: 'hall',
  },
  {
    names: ['construction', 'construction site', 'building site', 'workshop', 'carpentry'],
    parts: [
      ['hammer', {}],
      ['chainsaw', { weight: 0.5, distance: 15 }],
      ['truck', { weight: 0.5, distance: 12 }],
    ],
    room: 'outdoors',
  },
  {
    names: ['circus', 'carnival', 'fair', 'amusement park', 'fairground', 'playground'],
    parts: [
      ['crowd', { weight: 0.7 }],
      ['music box', { weight: 0.6 }],
      ['laugh', { weight: 0.5, distance: 10 }],
    ],
    room: 'outdoors',
  },
  {
    names: ['wedding', 'celebration'],
    parts: [
      ['wedding bells', {}],
      ['applause', { weight: 0.6 }],
      ['crowd', { weight: 0.4 }],
    ],
    room: 'outdoors',
  },
  {
    names: ['kitchen', 'cooking', 'chef', 'frying', 'sizzling', 'bacon'],
    parts: [
      ['rain', { weight: 0.5, surface: 'metal' }],
      ['clink', { weight: 0.4 }],
      ['bubble', { weight: 0.5 }],
    ],
    room: 'room',
  },
];
