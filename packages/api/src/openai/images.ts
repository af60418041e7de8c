/** `POST /images/generations` and `/images/edits` (contract §10): OpenAI's public API. Null is the same as absent. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { END_USER, boolean, enumOf, integer, nullable, string } from './optional-parts.ts';

const DECLARED = 'Rejected if the model does not have it, unless it is the default.';

/** How images are returned. */
export const IMAGE_RESPONSE_FORMATS = ['b64_json', 'url'] as const;

/** The fields of both endpoints. */
const COMMON = {
  model: Type.String({
    minLength: 1,
    maxLength: 300,
    description: 'The model name, as returned by `GET /v1/models`; its `endpoints` list this path.',
  }),
  n: integer(1, 10, `The number of images. ${DECLARED}`),
  size: string(100, `Width and height in pixels, such as \`1024x1024\`, or \`auto\`. ${DECLARED}`),
  quality: string(100, `The quality, such as \`auto\` or \`high\`. ${DECLARED}`),
  background: string(100, `\`auto\`, \`opaque\` or \`transparent\`. ${DECLARED}`),
  moderation: string(100, `\`auto\` or \`low\`. ${DECLARED}`),
  output_format: string(100, `\`png\`, \`jpeg\` or \`webp\`. ${DECLARED}`),
  output_compression: integer(0, 100, `The compression in percent. ${DECLARED}`),
  response_format: enumOf(
    IMAGE_RESPONSE_FORMATS,
    'How the images are returned: `b64_json`, the default, in the response itself; `url`, as URLs that expire. Both work for every model.',
  ),
  stream: boolean('Whether the response is a stream of server-sent events, with one event for each image.'),
  partial_images: integer(0, 3, 'Only with `stream`. At most this many partial images are sent; no model has any yet.'),
  ...END_USER,
};

export const ImageGenerationRequestSchema = Type.Object(
  {
    ...COMMON,
    prompt: Type.String({ minLength: 1, maxLength: 32_000, description: 'What the image shows.' }),
    style: string(100, `\`vivid\` or \`natural\`. ${DECLARED}`),
  },
  { additionalProperties: false },
);

export type ImageGenerationRequest = Static<typeof ImageGenerationRequestSchema>;

/** The most images of one edit, and the most bytes of each that is sent in a form: OpenAI's limits. */
export const MAX_EDIT_IMAGES = 16;
export const MAX_EDIT_IMAGE_BYTES = 50_000_000;

/** The fields of an edit beside its images. */
export const ImageEditFieldsSchema = Type.Object(
  {
    ...COMMON,
    prompt: Type.String({ minLength: 1, maxLength: 32_000, description: 'What to change.' }),
    input_fidelity: string(100, `\`low\` or \`high\`: how closely the images are followed. ${DECLARED}`),
  },
  { additionalProperties: false },
);

export type ImageEditFields = Static<typeof ImageEditFieldsSchema>;

const ImageFile = {
  type: 'string',
  contentMediaType: 'application/octet-stream',
} as const;
const MASK = 'Its transparent area is what to change: a PNG of the size of the first image.';

/** An edit as a form. */
export const ImageEditFormSchema = Type.Object(
  {
    // In a form, a list of one is the same as the file itself.
    image: Type.Array(Type.Unsafe<string>(ImageFile), {
      minItems: 1,
      maxItems: MAX_EDIT_IMAGES,
      description: 'The images, at most 50 MB each; a model may take fewer. Several are sent as `image` or `image[]`.',
    }),
    mask: Type.Optional(Type.Unsafe<string>({ ...ImageFile, description: `${MASK} ${DECLARED}` })),
    ...ImageEditFieldsSchema.properties,
  },
  { additionalProperties: false },
);

/** An image that a request refers to. */
export const ImageReferenceSchema = Type.Object(
  {
    image_url: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 10_000_000,
        description: 'A public HTTPS URL, a URL of this service, or a data URL in base64.',
      }),
    ),
    file_id: Type.Optional(
      Type.String({
        pattern: '^[\\w-]{1,64}$',
        description: 'The id of a file of the account. The key needs the scope `storage:read`.',
      }),
    ),
  },
  { additionalProperties: false, minProperties: 1, maxProperties: 1, description: 'Exactly one of the two.' },
);

export type ImageReference = Static<typeof ImageReferenceSchema>;

/** An edit as JSON. */
export const ImageEditRequestSchema = Type.Object(
  {
    images: Type.Array(ImageReferenceSchema, {
      minItems: 1,
      maxItems: MAX_EDIT_IMAGES,
      description: 'The images; a model may take fewer.',
    }),
    mask: Type.Optional(nullable<ImageReference>({ ...ImageReferenceSchema, description: `${MASK} ${DECLARED}` })),
    ...ImageEditFieldsSchema.properties,
  },
  { additionalProperties: false },
);

const ImageSchema = Type.Object({
  b64_json: Type.Optional(Type.String({ description: 'The file in base64.' })),
  url: Type.Optional(Type.String({ description: 'A URL of the file. It expires like the URLs of a task.' })),
});

export const ImagesResponseSchema = Type.Object({
  created: Type.Integer({ minimum: 0, description: 'Unix seconds: when the task ended.' }),
  data: Type.Array(ImageSchema),
  background: Type.Optional(Type.String({ description: 'As requested. Absent: it was not.' })),
  output_format: Type.Optional(Type.String({ description: 'The format of the files: `png`, `jpeg` or `webp`.' })),
  quality: Type.Optional(Type.String({ description: 'As requested. Absent: it was not.' })),
  size: Type.Optional(Type.String({ description: 'Width and height of the files in pixels, as they were measured.' })),
});

export type ImagesResponse = Static<typeof ImagesResponseSchema>;
