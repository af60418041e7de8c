/** An uploaded file in the form of OpenAI's API: of a client that sent its `purpose` (contract §7.5). */
import type { OpenAiFile } from '@darkroom/api/openai/files';
import type { PurposedFile } from '../objects/openai-files.ts';

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
