/**
 * An uploaded file as its owner sees it (contract §7 "Uploads"): the `data` of `POST /files` and `GET /files/{id}`.
 * Its URL is signed here, that is, whenever the file is read.
 */
import { Type } from 'typebox';
import type { Static } from 'typebox';

export const FileSchema = Type.Object(
  {
    id: Type.String({ pattern: '^file_[0-9A-HJKMNP-TV-Z]{26}$' }),
    url: Type.String({
      description:
        'The URL of the file, for any input field that accepts media. It can be downloaded without a key, like an output.',
    }),
    expireAt: Type.Integer({
      minimum: 0,
      description: 'The time when `url` expires, in Unix seconds. Getting the file again returns a new URL, for 24 h.',
    }),
    mimeType: Type.String({
      description: 'The media type, detected from the bytes. The type that the upload declares is ignored.',
    }),
    sizeBytes: Type.Integer({ minimum: 1 }),
  },
  { additionalProperties: false },
);

/** The `data` of `DELETE /files/{id}`. */
export const DeletedFileSchema = Type.Object({ id: Type.String() }, { additionalProperties: false });

export type WireFile = Static<typeof FileSchema>;
