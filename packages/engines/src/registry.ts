/**
 * The embedded engines by name: the `model` of an upstream binding whose protocol is `embedded`. Imported by the
 * threads of the pool only; the names alone, which the provider needs, are in `engine-names.ts`, so that no worker
 * process loads a drawing library into its main thread.
 *
 * All are loaded when a thread starts, which takes about 300 ms and 30 MB.
 */
import type { Engine } from './engine.ts';
import type { EngineName } from './engine-names.ts';
import { renderVideo } from './video/video.ts';
import { renderEdit } from './image/edit/edit.ts';
import { renderPoster } from './image/poster.ts';
import { renderScene } from './image/scene.ts';
import { renderSwatch } from './image/swatch.ts';
import { renderSong } from './song/song.ts';
import { renderSound } from './sound/sound.ts';
import { renderSpeech } from './speech/speech.ts';

const BY_NAME: Record<EngineName, Engine> = {
  scene: renderScene,
  poster: renderPoster,
  edit: renderEdit,
  swatch: renderSwatch,
  film: renderVideo,
  speech: renderSpeech,
  song: renderSong,
  sound: renderSound,
};

export const ENGINES: ReadonlyMap<string, Engine> = new Map(Object.entries(BY_NAME));

/** This version has no engine of that name. */
export class UnknownEngineError extends Error {
  override readonly name = 'UnknownEngineError';

  constructor(engine: string) {
    super(`no embedded engine is called ${JSON.stringify(engine.slice(0, 64))}`);
  }
}
