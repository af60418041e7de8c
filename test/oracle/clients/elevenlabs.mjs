/** `@elevenlabs/elevenlabs-js`: speech, music and sound effects. */
import { Buffer } from 'node:buffer';
import { ElevenLabsClient } from '@elevenlabs/elevenlabs-js';

const { textToSpeech, music, textToSoundEffects } = new ElevenLabsClient({ apiKey: 'the-key' });
const options = { maxRetries: 0 };

const contentOf = async (stream) => Buffer.from(await new Response(await stream).arrayBuffer()).toString('base64');

export const calls = {
  speech: (voice, request) => contentOf(textToSpeech.convert(voice, request, options)),
  music: (request) => contentOf(music.compose(request, options)),
  effect: (request) => contentOf(textToSoundEffects.convert(request, options)),
};
