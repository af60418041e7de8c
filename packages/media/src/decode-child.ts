/** Entry of the child process that decodes one untrusted file. Found by path from `decode.ts`. */
import { serveParent } from './child-channel.ts';
import type { ParentChannel } from './child-channel.ts';
import type { ClipRequest, DecodedFrame, Still } from './video-decoding.ts';
import type { PreviewBounds } from './preview.ts';
import type { AudioRequest } from './audio-decoding.ts';

/** A small copy of an image whose bytes follow (preview.ts). */
type PreviewRequest = { readonly decode: 'preview' } & PreviewBounds;

/** The request to this child. */
export type DecodeRequest =
  | { readonly decode: 'image'; readonly path: string; readonly maxEdge: number; readonly as?: 'jpeg' }
  | PreviewRequest
  | {
      readonly decode: 'stills';
      readonly path: string;
      readonly stills: readonly Still[];
      readonly as: 'rgba' | 'jpeg';
    }
  | ({ readonly decode: 'audio' } & AudioRequest)
  | ({ readonly decode: 'clip' } & ClipRequest);

async function sendImage({ width, height, rgba }: DecodedFrame, channel: ParentChannel): Promise<void> {
  await channel.sendJson({ width, height });
  await channel.sendBytes(rgba);
}

// Each library is loaded where it is needed: loading them is most of the time that a child takes to start.
await serveParent(async (message, channel) => {
  const request = message as unknown as DecodeRequest;
  if (request.decode === 'preview') {
    const file = await channel.receive();
    channel.endWithParent();
    if (file.kind !== 'bytes') throw new TypeError('the file of a preview must be sent as bytes');
    const { createPreview } = await import('./image-preview.ts');
    await sendImage(await createPreview(file.bytes, request), channel);
    return;
  }
  channel.endWithParent();
  if (request.decode === 'image') {
    const { decodeImageFile, encodeJpeg } = await import('./image-decoding.ts');
    const image = await decodeImageFile(request.path, request.maxEdge);
    await sendImage(request.as === 'jpeg' ? { ...image, rgba: await encodeJpeg(image) } : image, channel);
  } else if (request.decode === 'audio') {
    const { decodeAudio } = await import('./audio-decoding.ts');
    await decodeAudio(request, channel);
  } else if (request.decode === 'clip') {
    const { decodeClip } = await import('./video-decoding.ts');
    await decodeClip(request, channel);
  } else {
    const { decodeStill } = await import('./video-decoding.ts');
    const { encodeJpeg } = await import('./image-decoding.ts');
    for (const still of request.stills) {
      const image = await decodeStill(request.path, still);
      await sendImage(request.as === 'jpeg' ? { ...image, rgba: await encodeJpeg(image) } : image, channel);
    }
  }
});
