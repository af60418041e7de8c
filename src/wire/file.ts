/**
 * An uploaded file as its owner sees it (contract §7 "Uploads"): the `data` of `POST /files` and `GET /files/{id}`.
 * Its URL is signed here, that is, whenever the file is read.
 */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { extensionFor } from '@darkroom/media/media-types';
import type { UrlSigner } from '../objects/urls/signed-url.ts';
import type { Upload } from '../objects/uploads.ts';

export const FileSchema = Type.Object(
  {
    id: Type.String({ pattern: '^file_[0-9A-HJKMNP-TV-Z]{26}$' }),
    url: Type.String({
      description: 'For any field of an input that takes media; downloadable without a key, as an output is.',
    }),
    expireAt: Type.Integer({
      minimum: 0,
      description: 'Unix seconds: when `url` stops working. Reading the file again gives a fresh one, for 24 h.',
    }),
    mimeType: Type.String({ description: 'Read from the bytes; what the upload said of itself counts for nothing.' }),
    sizeBytes: Type.Integer({ minimum: 1 }),
  },
  { additionalProperties: false },
);

/** The `data` of `DELETE /files/{id}`. */
export const DeletedFileSchema = Type.Object({ id: Type.String() }, { additionalProperties: false });

type WireFile = Static<typeof FileSchema>;

/** @param urlLifetimeSeconds how long the last URL may outlive the upload: it is marked gone only then. */
export function presentFile(upload: Upload, signer: UrlSigner, urlLifetimeSeconds: number): WireFile {
  const { id, mimeType, sizeBytes } = upload;
  const notAfter = Math.floor(upload.expiresAt) + urlLifetimeSeconds;
  const { url, expireAt } = signer.sign({ outputId: id, fileName: uploadFileName(upload), notAfter });
  return { id, url, expireAt, mimeType, sizeBytes };
}

/** `<file id>.<ext>`. */
export function uploadFileName({ id, mimeType }: Pick<Upload, 'id' | 'mimeType'>): string {
  return `${id}.${extensionFor(mimeType)}`;
}
