/** Samples of models, each made by the model itself. Written by tools/samples/run.ts; do not edit. */

export interface Sample {
  readonly kind: 'image' | 'video' | 'audio';
  /** Files below `/assets/samples/`. */
  readonly file: string;
  /** A still of a film. */
  readonly poster?: string;
  readonly width?: number;
  readonly height?: number;
  /** What the model was asked for. */
  readonly prompt: string;
}

/** By the name of the model. */
export const samples: Readonly<Record<string, Sample>> = {
  'darkroom/animate': {
    kind: 'video',
    file: 'darkroom-animate.mp4',
    poster: 'darkroom-animate-still.webp',
    width: 560,
    height: 374,
    prompt: 'Slow push in, light rain, ripples on the water',
  },
  'darkroom/blend': {
    kind: 'video',
    file: 'darkroom-blend.mp4',
    poster: 'darkroom-blend-still.webp',
    width: 560,
    height: 316,
    prompt: 'Warm summer memories, quick cuts, "SUMMER"',
  },
  'darkroom/canvas': {
    kind: 'image',
    file: 'darkroom-canvas.webp',
    width: 960,
    height: 640,
    prompt: 'A red barn among birches in autumn, a horse at the fence',
  },
  'darkroom/clip': {
    kind: 'video',
    file: 'darkroom-clip.mp4',
    poster: 'darkroom-clip-still.webp',
    width: 560,
    height: 316,
    prompt: 'Hot-air balloons rising over a valley at sunrise, crane up',
  },
  'darkroom/continue': {
    kind: 'video',
    file: 'darkroom-continue.mp4',
    poster: 'darkroom-continue-still.webp',
    width: 560,
    height: 316,
    prompt: 'The camera rises above the roofs, the city lights up, night falls',
  },
  'darkroom/edit': {
    kind: 'image',
    file: 'darkroom-edit.webp',
    width: 960,
    height: 640,
    prompt: 'Golden hour, and blur the background',
  },
  'darkroom/edit-max': {
    kind: 'image',
    file: 'darkroom-edit-max.webp',
    width: 768,
    height: 960,
    prompt: 'A collage on white paper, "SUMMER 1998"',
  },
  'darkroom/instrumental': {
    kind: 'audio',
    file: 'darkroom-instrumental.m4a',
    prompt: 'Bossa nova, nylon guitar and flute, summer evening, 120 bpm',
  },
  'darkroom/motion': {
    kind: 'video',
    file: 'darkroom-motion.mp4',
    poster: 'darkroom-motion-still.webp',
    width: 384,
    height: 216,
    prompt: 'A lighthouse above a stormy sea at dusk, the camera slowly pushes in, seagulls',
  },
  'darkroom/motion-long': {
    kind: 'video',
    file: 'darkroom-motion-long.mp4',
    poster: 'darkroom-motion-long-still.webp',
    width: 560,
    height: 316,
    prompt: 'A train through snowy mountains',
  },
  'darkroom/motion-max': {
    kind: 'video',
    file: 'darkroom-motion-max.mp4',
    poster: 'darkroom-motion-max-still.webp',
    width: 560,
    height: 316,
    prompt: 'A river valley in autumn from sunrise to dusk, mist over the water, a red canoe',
  },
  'darkroom/motion-pro': {
    kind: 'video',
    file: 'darkroom-motion-pro.mp4',
    poster: 'darkroom-motion-pro-still.webp',
    width: 480,
    height: 270,
    prompt: 'A thunderstorm over the sea, waves against the cliffs, lightning',
  },
  'darkroom/poster': {
    kind: 'image',
    file: 'darkroom-poster.webp',
    width: 480,
    height: 720,
    prompt: '"LAKE COMO" "the quiet season", a sailing boat below mountains, teal and orange',
  },
  'darkroom/remix': {
    kind: 'image',
    file: 'darkroom-remix.webp',
    width: 960,
    height: 640,
    prompt: 'The same place in winter, a deer in the snow',
  },
  'darkroom/retouch': {
    kind: 'image',
    file: 'darkroom-retouch.webp',
    width: 960,
    height: 640,
    prompt: 'Black and white, with a little more contrast',
  },
  'darkroom/scene': {
    kind: 'image',
    file: 'darkroom-scene.webp',
    width: 960,
    height: 640,
    prompt: 'A red lighthouse on a cliff at sunset, seagulls and a sailing boat',
  },
  'darkroom/scene-ultra': {
    kind: 'image',
    file: 'darkroom-scene-ultra.webp',
    width: 960,
    height: 540,
    prompt: 'An old harbour town below snowy mountains, fishing boats, early morning mist, oil painting',
  },
  'darkroom/song': {
    kind: 'audio',
    file: 'darkroom-song.m4a',
    prompt: 'Folk ballad, acoustic guitar and accordion, warm, 92 bpm, in G major',
  },
  'darkroom/sound': {
    kind: 'audio',
    file: 'darkroom-sound.m4a',
    prompt: 'Heavy rain on a roof, distant thunder',
  },
  'darkroom/speech': {
    kind: 'audio',
    file: 'darkroom-speech.m4a',
    prompt: 'The tide tables for Tuesday: high water at 6:42 in the morning, low water at 12:55.',
  },
};
