/**
 * Uploaded files as their owner sees them (contract §7 "Uploads"): in our form, whose URL is signed here, that is,
 * whenever the file is read; in the form of OpenAI's API, if the client sent a `purpose`; and while they are sent in
 * parts.
 */
import type { OpenAiFile } from '@darkroom/api/openai/files';
import type { WireUpload } from '@darkroom/api/openai/uploads';
import type { WireFile } from '@darkroom/api/tasks/file';
import { extensionFor } from '@darkroom/media/media-types';
import type { MultipartUpload } from '../objects/multipart-uploads.ts';
import type { PurposedFile } from '../objects/openai-files.ts';
import type { Upload } from '../objects/uploads.ts';
import type { UrlSigner } from '../objects/urls/signed-url.ts';

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

export function presentOpenAiFile({
  id,
  sizeBytes,
  createdAt,
  expiresAt,
  fileName,
  purpose,
}: PurposedFile): OpenAiFile {
  return {
    id,
    object: 'file',
    bytes: sizeBytes,
    created_at: Math.floor(createdAt),
    expires_at: Math.floor(expiresAt),
    filename: fileName,
    purpose,
    status: 'processed',
  };
}

/**
 * A file that is sent in parts.
 *
 * @param file where the upload is completed and its file is there.
 */
export function presentUpload(upload: MultipartUpload, file?: PurposedFile): WireUpload {
  return {
    id: upload.id,
    object: 'upload',
    bytes: upload.sizeBytes,
    created_at: Math.floor(upload.createdAt),
    filename: upload.fileName,
    purpose: upload.purpose,
    status: upload.status,
    expires_at: Math.floor(upload.expiresAt),
    ...(file === undefined ? {} : { file: presentOpenAiFile(file) }),
  };
}
