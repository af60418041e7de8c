/** Entry of the child process that decodes one untrusted file. Found by path from `decode.ts`. */
import { serveParent } from './child-channel.ts';
import type { ParentChannel } from './child-channel.ts';
import type { ClipRequest, FilmPicture, Still } from './video-decoding.ts';
import type { PreviewBounds } from './preview.ts';
import type { SoundRequest } from './audio-decoding.ts';

/** A small copy of an image whose bytes follow (preview.ts). */
type PreviewRequest = { readonly decode: 'preview' } & PreviewBounds;

/** The request to this child. */
export type DecodeRequest =
  | { readonly decode: 'picture'; readonly path: string; readonly maxEdge: number }
  | PreviewRequest
  | {
      readonly decode: 'stills';
      readonly path: string;
      readonly stills: readonly Still[];
      readonly as: 'rgba' | 'jpeg';
    }
  | ({ readonly decode: 'sound' } & SoundRequest)
  | ({ readonly decode: 'clip' } & ClipRequest);

async function givePicture({ width, height, rgba }: FilmPicture, channel: ParentChannel): Promise<void> {
  await channel.tell({ width, height });
  await channel.give(rgba);
}

// Each library is loaded where it is needed: loading them is most of the time that a child takes to start.
await serveParent(async (asked, channel) => {
  const request = asked as unknown as DecodeRequest;
  if (request.decode === 'preview') {
    const given = await channel.next();
    channel.expectNothing();
    if (given.kind !== 'bytes') throw new TypeError('a preview is made of bytes');
    const { previewPicture } = await import('./image-preview.ts');
    await givePicture(await previewPicture(given.bytes, request), channel);
    return;
  }
  channel.expectNothing();
  if (request.decode === 'picture') {
    const { decodePictureFile } = await import('./image-decoding.ts');
    await givePicture(await decodePictureFile(request.path, request.maxEdge), channel);
  } else if (request.decode === 'sound') {
    const { decodeSound } = await import('./audio-decoding.ts');
    await decodeSound(request, channel);
  } else if (request.decode === 'clip') {
    const { decodeClip } = await import('./video-decoding.ts');
    await decodeClip(request, channel);
  } else {
    const { decodeStill } = await import('./video-decoding.ts');
    const { asJpeg } = await import('./image-decoding.ts');
    for (const still of request.stills) {
      const picture = await decodeStill(request.path, still);
      await givePicture(request.as === 'jpeg' ? { ...picture, rgba: await asJpeg(picture) } : picture, channel);
    }
  }
});
