/** Entry of the child process that encodes one file of ours. Found by path from `encode.ts`. */
import { serveParent } from './child-channel.ts';
import type { FilmRequest } from './video-encoding.ts';
import type { SoundFileRequest } from './audio-encoding.ts';

/** The request to this child; frames or samples follow, then `{ isOver: true }`. */
export type EncodeRequest =
  | ({ readonly encode: 'film' } & FilmRequest)
  | ({ readonly encode: 'sound' } & SoundFileRequest);

await serveParent(async (asked, channel) => {
  const request = asked as unknown as EncodeRequest;
  if (request.encode === 'film') {
    const { encodeFilm } = await import('./video-encoding.ts');
    await encodeFilm(request, channel);
  } else {
    const { encodeSound } = await import('./audio-encoding.ts');
    await encodeSound(request, channel);
  }
});
