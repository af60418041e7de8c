/** `/uploads` (contract §7.5): OpenAI's public API for files that are sent in parts. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { UnixSeconds } from '../tasks/fields.ts';
import { FILE_EXPIRY_SECONDS, FILE_PURPOSES, OpenAiFileSchema } from './files.ts';
import type { FilePurpose } from './files.ts';

/** The maximum size of a file that is sent in parts, and of a part. */
export const MAX_PARTED_FILE_BYTES = 2_000_000_000;
export const MAX_PART_BYTES = 64 * 1024 * 1024;
/** The maximum number of parts of one file. */
export const MAX_PARTS = 1_000;
/** How long the parts may take to arrive, in seconds: OpenAI's. */
export const UPLOAD_SECONDS = 3_600;

const UPLOAD_ID = '^upload_[0-9A-HJKMNP-TV-Z]{26}$';
const PART_ID = '^part_[0-9A-HJKMNP-TV-Z]{26}$';
const purpose = (description: string) =>
  Type.Unsafe<FilePurpose>({ type: 'string', enum: [...FILE_PURPOSES], description });

export const CreateUploadSchema = Type.Object(
  {
    filename: Type.String({ minLength: 1, maxLength: 255, description: 'The name of the file.' }),
    purpose: purpose('As for `POST /v1/files`.'),
    bytes: Type.Integer({
      minimum: 1,
      maximum: MAX_PARTED_FILE_BYTES,
      description: 'The size of the file: the sum of its parts. `batch` at most 200 MB, `vision` 100 MB.',
    }),
    mime_type: Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'Ignored: the media type is detected from the bytes.',
    }),
    expires_after: Type.Optional(
      Type.Object(
        {
          anchor: Type.Literal('created_at'),
          seconds: Type.Integer({ minimum: FILE_EXPIRY_SECONDS.minimum, maximum: FILE_EXPIRY_SECONDS.maximum }),
        },
        { additionalProperties: false, description: 'How long the file is kept. Default: 30 days.' },
      ),
    ),
  },
  { additionalProperties: false },
);
export type CreateUploadBody = Static<typeof CreateUploadSchema>;

export const UploadSchema = Type.Object({
  id: Type.String({ pattern: UPLOAD_ID }),
  object: Type.Literal('upload'),
  bytes: Type.Integer({ minimum: 1, description: 'As requested.' }),
  created_at: UnixSeconds,
  filename: Type.String(),
  purpose: purpose('As requested.'),
  status: Type.Unsafe<'pending' | 'completed' | 'cancelled' | 'expired'>({
    type: 'string',
    enum: ['pending', 'completed', 'cancelled', 'expired'],
  }),
  expires_at: Type.Integer({ minimum: 0, description: 'Unix seconds: until then it must be completed.' }),
  file: Type.Optional(OpenAiFileSchema),
});
export type WireUpload = Static<typeof UploadSchema>;

/** The form of a part. */
export const PartFormSchema = Type.Object(
  {
    data: Type.Unsafe<string>({
      type: 'string',
      contentMediaType: 'application/octet-stream',
      description: 'The bytes, at most 64 MiB.',
    }),
  },
  { additionalProperties: false },
);

export const UploadPartSchema = Type.Object({
  id: Type.String({ pattern: PART_ID }),
  object: Type.Literal('upload.part'),
  created_at: UnixSeconds,
  upload_id: Type.String({ pattern: UPLOAD_ID }),
});

export const CompleteUploadSchema = Type.Object(
  {
    part_ids: Type.Array(Type.String({ pattern: PART_ID, description: 'The id of a part.' }), {
      minItems: 1,
      maxItems: MAX_PARTS,
      uniqueItems: true,
      description: 'The parts in their order. Parts that are not named are dropped.',
    }),
    md5: Type.Optional(
      Type.String({
        pattern: '^[0-9a-fA-F]{32}$',
        description: 'The MD5 of the file: 32 digits in hex. It is compared.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type CompleteUploadBody = Static<typeof CompleteUploadSchema>;
