/**
 * The built-in tool `image_generation` of `POST /responses`, as a request describes it (contract §9.9). Which values an
 * image model has is in its file; here is the form alone.
 */
export interface WireImageTool {
  readonly type: 'image_generation';
  readonly model?: string | null;
  readonly size?: string | null;
  readonly quality?: string | null;
  readonly background?: string | null;
  readonly moderation?: string | null;
  readonly output_format?: string | null;
  readonly output_compression?: number | null;
  readonly partial_images?: number | null;
  readonly action?: string | null;
  readonly input_fidelity?: unknown;
  readonly input_image_mask?: unknown;
}

const word = (description: string) => ({ type: ['string', 'null'], minLength: 1, maxLength: 100, description });

/** The form of a tool whose type is `image_generation`. */
export const IMAGE_TOOL_FORM = {
  type: 'object',
  properties: {
    type: { type: 'string' },
    model: {
      type: ['string', 'null'],
      minLength: 1,
      maxLength: 300,
      description: 'The model that generates the images. Default: `imageModel` of the file of the text model.',
    },
    size: word('The size of the images, as for `/images/generations`.'),
    quality: word('The quality of the images, as for `/images/generations`.'),
    background: word('The background of the images, as for `/images/generations`.'),
    moderation: word('As for `/images/generations`.'),
    output_format: word('The format of the images, as for `/images/generations`.'),
    output_compression: { type: ['integer', 'null'], minimum: 0, maximum: 100 },
    partial_images: {
      type: ['integer', 'null'],
      minimum: 0,
      maximum: 3,
      description: 'The maximum number of partial images in a stream. No model has any, so none are sent.',
    },
    action: word('`auto` or `generate`. Images are not edited.'),
    input_fidelity: { description: 'Not supported: images are not edited.' },
    input_image_mask: { description: 'Not supported: images are not edited.' },
  },
  additionalProperties: false,
} as const;
