/** A file that is sent in parts, in the form of OpenAI's API (contract §7.5). */
import type { WireUpload } from '@darkroom/api/openai/uploads';
import type { MultipartUpload } from '../objects/multipart-uploads.ts';
import type { PurposedFile } from '../objects/openai-files.ts';
import { presentOpenAiFile } from './openai-file.ts';

/** @param file where the upload is completed and its file is there. */
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
