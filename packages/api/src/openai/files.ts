/** `/files` in OpenAI's form (contract §7.5): for clients of its public API, which send a `purpose`. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { UnixSeconds } from '../tasks/fields.ts';

/** What a file may be for: OpenAI's purposes that have a use here. */
export const FILE_PURPOSES = ['batch', 'user_data', 'vision'] as const;
export type FilePurpose = (typeof FILE_PURPOSES)[number];

/** Those of stored files: `batch_output` is the results of a batch. */
export const STORED_PURPOSES = [...FILE_PURPOSES, 'batch_output'] as const;
export type StoredPurpose = (typeof STORED_PURPOSES)[number];

/** The shortest and the longest time that a client may set, and the default, in seconds: OpenAI's, for batch files. */
export const FILE_EXPIRY_SECONDS = { minimum: 3_600, maximum: 2_592_000, default: 2_592_000 } as const;

/** The maximum number of files on a page. Clients that ask for more get a page with `has_more`. */
export const MAX_LISTED_FILES = 1_000;

const Purpose = Type.Unsafe<StoredPurpose>({ type: 'string', enum: [...STORED_PURPOSES] });
const FILE_ID = '^file-[0-9A-HJKMNP-TV-Z]{26}$';

export const OpenAiFileSchema = Type.Object({
  id: Type.String({ pattern: FILE_ID }),
  object: Type.Literal('file'),
  bytes: Type.Integer({ minimum: 0 }),
  created_at: UnixSeconds,
  expires_at: Type.Integer({ minimum: 0, description: 'Unix seconds: when the file is deleted.' }),
  filename: Type.String(),
  purpose: Purpose,
  status: Type.Literal('processed'),
});
export type OpenAiFile = Static<typeof OpenAiFileSchema>;

export const DeletedOpenAiFileSchema = Type.Object({
  id: Type.String({ pattern: FILE_ID }),
  object: Type.Literal('file'),
  deleted: Type.Literal(true),
});

export const OpenAiFileListSchema = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(OpenAiFileSchema),
  first_id: Type.Union([Type.String(), Type.Null()], { description: 'Null: the page is empty.' }),
  last_id: Type.Union([Type.String(), Type.Null()]),
  has_more: Type.Boolean(),
});

export const FileListQuerySchema = Type.Object(
  {
    purpose: Type.Optional(
      Type.Unsafe<StoredPurpose>({
        type: 'string',
        enum: [...STORED_PURPOSES],
        description: 'Lists only files with this purpose.',
      }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 10_000,
        description: `The maximum number of files. A page has at most ${MAX_LISTED_FILES}, the default.`,
      }),
    ),
    order: Type.Optional(
      Type.Unsafe<'asc' | 'desc'>({
        type: 'string',
        enum: ['asc', 'desc'],
        description: 'By the time of creation. `desc`, the default, returns the newest first.',
      }),
    ),
    after: Type.Optional(
      Type.String({ minLength: 1, maxLength: 64, description: 'The id of the last file of the previous page.' }),
    ),
  },
  { additionalProperties: false },
);

/** The form of `POST /files`. Without `purpose` the file has our form, and the form has no other field. */
export const FileFormSchema = Type.Object(
  {
    file: Type.Unsafe<string>({
      type: 'string',
      contentMediaType: 'application/octet-stream',
      description: 'The file. Without `purpose`, its field may have any name.',
    }),
    purpose: Type.Optional(
      Type.Unsafe<FilePurpose>({
        type: 'string',
        enum: [...FILE_PURPOSES],
        description:
          'The file has the form of OpenAI’s API. `batch`: a `.jsonl` file of at most 200 MB; `vision`: an image; `user_data`: any file. The last two have at most 100 MB.',
      }),
    ),
    'expires_after[anchor]': Type.Optional(Type.Literal('created_at')),
    'expires_after[seconds]': Type.Optional(
      Type.Integer({
        minimum: FILE_EXPIRY_SECONDS.minimum,
        maximum: FILE_EXPIRY_SECONDS.maximum,
        description: 'With `purpose`: how long the file is kept. Default: 30 days.',
      }),
    ),
  },
  { additionalProperties: false },
);
