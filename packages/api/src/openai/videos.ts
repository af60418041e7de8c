/** `/videos` (contract §10): OpenAI's public API. Null is the same as absent. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { ImageReferenceSchema } from './images.ts';
import type { ImageReference } from './images.ts';
import { END_USER, nullable, string } from './optional-parts.ts';

const DECLARED = 'Rejected if the model does not have it.';

const MODEL = {
  minLength: 1,
  maxLength: 300,
} as const;

const FIELDS = {
  model: Type.String({
    ...MODEL,
    description: 'The model name, as returned by `GET /v1/models`; its `endpoints` list this path.',
  }),
  prompt: Type.String({ minLength: 1, maxLength: 32_000, description: 'What the video shows.' }),
  seconds: Type.Optional(
    Type.Unsafe<string | number | null>({
      type: ['string', 'integer', 'null'],
      pattern: '^[1-9][0-9]{0,3}(\\.0{1,6})?$',
      minimum: 1,
      maximum: 9_999,
      description: `The length in seconds, as OpenAI has it: a number in a string. Default: that of the model. ${DECLARED}`,
    }),
  ),
  size: string(100, `Width and height in pixels, such as \`1280x720\`. Default: that of the model. ${DECLARED}`),
  ...END_USER,
};

/** The body as JSON. */
export const VideoRequestSchema = Type.Object(
  {
    ...FIELDS,
    input_reference: Type.Optional(
      Type.Unsafe<ImageReference | null>({
        ...nullable<ImageReference>(ImageReferenceSchema),
        description: `An image that the video begins with. ${DECLARED}`,
      }),
    ),
  },
  { additionalProperties: false },
);

export type VideoRequest = Static<typeof VideoRequestSchema>;

/** The body as a form. */
export const VideoFormSchema = Type.Object(
  {
    ...FIELDS,
    input_reference: Type.Optional(
      Type.Unsafe<string>({
        type: 'string',
        contentMediaType: 'application/octet-stream',
        description: `An image that the video begins with, at most 100 MB; a model may take less. Instead of it, \`input_reference[image_url]\` or \`input_reference[file_id]\`. ${DECLARED}`,
      }),
    ),
  },
  { additionalProperties: false },
);

export const VideoRemixSchema = Type.Object(
  {
    prompt: Type.String({ minLength: 1, maxLength: 32_000, description: 'What the new video shows.' }),
    model: Type.Optional(
      nullable<string>(
        Type.String({
          ...MODEL,
          description: "Not in OpenAI's API: the model that makes the new video. Default: that of the video.",
        }),
      ),
    ),
    ...END_USER,
  },
  { additionalProperties: false },
);

export type VideoRemix = Static<typeof VideoRemixSchema>;

export const VIDEO_STATUSES = ['queued', 'in_progress', 'completed', 'failed'] as const;

const time = (description: string) => nullable<number>(Type.Integer({ minimum: 0, description }));

export const VideoSchema = Type.Object({
  id: Type.String({ description: 'The id of the task.' }),
  object: Type.Literal('video'),
  model: Type.String(),
  status: Type.Unsafe<(typeof VIDEO_STATUSES)[number]>({ type: 'string', enum: [...VIDEO_STATUSES] }),
  progress: Type.Integer({ minimum: 0, maximum: 100, description: 'Percent, as far as the model reports it.' }),
  created_at: Type.Integer({ minimum: 0, description: 'Unix seconds.' }),
  completed_at: time('Unix seconds: when the task ended. `null`: it has not.'),
  expires_at: time('Unix seconds: when the file expires. `null`: it does not, or there is none.'),
  prompt: nullable<string>(Type.String({ description: '`null`: it was deleted.' })),
  seconds: nullable<string>(
    Type.String({
      description:
        'The length in whole seconds: as requested, and once it is completed as measured. `null`: it is not known yet.',
    }),
  ),
  size: nullable<string>(
    Type.String({
      description:
        'Width and height in pixels: as requested, and once it is completed as measured. `null`: it is not known yet.',
    }),
  ),
  remixed_from_video_id: nullable<string>(Type.String({ description: 'The video that this one is a remix of.' })),
  error: Type.Unsafe<{ code: string; message: string } | null>({
    type: ['object', 'null'],
    required: ['code', 'message'],
    properties: { code: { type: 'string' }, message: { type: 'string' } },
    description: 'Why it failed.',
  }),
});

export type Video = Static<typeof VideoSchema>;

export const VideoListQuerySchema = Type.Object(
  {
    after: Type.Optional(
      Type.String({ maxLength: 100, description: 'The id of the last video of the previous page.' }),
    ),
    limit: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 100, default: 20, description: 'The maximum number of videos.' }),
    ),
    order: Type.Optional(
      Type.Unsafe<'asc' | 'desc'>({
        type: 'string',
        enum: ['asc', 'desc'],
        default: 'desc',
        description: '`desc`: the newest first; `asc`: the oldest first.',
      }),
    ),
  },
  { additionalProperties: false },
);

export const VideoListSchema = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(VideoSchema),
  first_id: nullable<string>(Type.String()),
  last_id: nullable<string>(Type.String()),
  has_more: Type.Boolean(),
});

export type VideoList = Static<typeof VideoListSchema>;

export const DeletedVideoSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('video.deleted'),
  deleted: Type.Boolean(),
});

export const VIDEO_VARIANTS = ['video', 'thumbnail', 'spritesheet'] as const;

export type VideoVariant = (typeof VIDEO_VARIANTS)[number];

export const VideoContentQuerySchema = Type.Object(
  {
    variant: Type.Optional(
      Type.Unsafe<VideoVariant>({
        type: 'string',
        enum: [...VIDEO_VARIANTS],
        default: 'video',
        description: '`video`, or `thumbnail`: a small image. There is no `spritesheet`.',
      }),
    ),
  },
  { additionalProperties: false },
);
