/** Entry of the child process that encodes one file of ours. Found by path from `encode.ts`. */
import { serveParent } from './child-channel.ts';
import type { VideoRequest } from './video-encoding.ts';
import type { AudioFileRequest } from './audio-encoding.ts';

/** The request to this child; frames or samples follow, then `{ isOver: true }`. */
export type EncodeRequest =
  | ({ readonly encode: 'video' } & VideoRequest)
  | ({ readonly encode: 'audio' } & AudioFileRequest);

await serveParent(async (message, channel) => {
  const request = message as unknown as EncodeRequest;
  if (request.encode === 'video') {
    const { encodeVideo } = await import('./video-encoding.ts');
    await encodeVideo(request, channel);
  } else {
    const { encodeAudio } = await import('./audio-encoding.ts');
    await encodeAudio(request, channel);
  }
});
