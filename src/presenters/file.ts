/**
 * An uploaded file as its owner sees it (contract §7 "Uploads"): the `data` of `POST /files` and `GET /files/{id}`.
 * Its URL is signed here, that is, whenever the file is read.
 */
import type { Upload } from '../objects/uploads.ts';
import type { UrlSigner } from '../objects/urls/signed-url.ts';
import type { WireFile } from '@darkroom/api/tasks/file';
import { extensionFor } from '@darkroom/media/media-types';

/** @param urlLifetimeSeconds how long the last URL may outlive the upload: it is marked as deleted only then. */
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
