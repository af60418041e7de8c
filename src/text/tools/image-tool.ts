/**
 * The built-in tool `image_generation` (contract §9.9) in a request: from what the client wrote to the function that the
 * model is offered instead. Whether the image model honours the fields is validated where the tool is prepared
 * (http/text/image-tool.ts).
 */
import type { WireImageTool } from '@darkroom/api/openai/image-generation-tool';
import { given } from '../parameters.ts';
import type { FunctionTool } from '../request.ts';
import type { ImageCallItem } from '../responses/items.ts';
import { InvalidTextRequest } from '../text-failure.ts';

export const IMAGE_TOOL = 'image_generation';

/** The maximum number of images that are generated for one response. The limit is ours. */
export const MAX_IMAGES = 4;

/** The tool as a request describes it. */
export interface RequestedImageTool {
  /** Where the request has it: `tools.0`. */
  readonly param: string;
  /** The function that the model is offered. */
  readonly offered: FunctionTool;
  /** Undefined: the default of the text model. */
  readonly model: string | undefined;
  /** Fields of `/images/generations`. */
  readonly fields: Readonly<Record<string, string | number>>;
  /** The maximum number of images in one response. */
  readonly maxImages: number;
}

/** A call of the tool. */
export interface ImageCall {
  /** Counts the calls of one response from 0. */
  readonly index: number;
  readonly prompt: string;
}

/** The tool of one call, ready to generate images. */
export interface ImageTool extends Pick<RequestedImageTool, 'offered' | 'maxImages'> {
  /**
   * Creates the task of an image. The same call a second time finds the same task.
   *
   * @returns the id of the task, or the item of an image that cannot be generated.
   * @throws {DarkroomError} this has nothing to do with the request.
   * @throws {TextFailure} the signal was aborted before there was a task.
   */
  start(call: ImageCall, signal: AbortSignal): Promise<string | ImageCallItem>;
  /** Waits for the end of the task. @throws {TextFailure} the signal was aborted; the task continues. */
  finish(taskId: string, call: ImageCall, signal: AbortSignal): Promise<ImageCallItem>;
}

/** Fields of the tool that `/images/generations` has too. */
const IMAGE_FIELDS = ['size', 'quality', 'background', 'moderation', 'output_format', 'output_compression'] as const;
/** Fields that no image model here can honour: images are generated, and not edited. */
const EDIT_FIELDS = ['input_fidelity', 'input_image_mask'] as const;

/**
 * @param index of the tool in the request. @param functionName see `imageFunctionName`.
 * @param body of the request.
 * @throws {InvalidTextRequest}
 */
export function decodeImageTool(
  tool: WireImageTool,
  index: number,
  functionName: string,
  body: Readonly<Record<string, unknown>>,
): RequestedImageTool {
  const param = `tools.${index}`;
  for (const field of EDIT_FIELDS) {
    if (given(tool[field]) !== undefined) throw notEdited(`${param}.${field}`);
  }
  const action = given<string>(tool.action) ?? 'auto';
  if (action === 'edit') throw notEdited(`${param}.action`);
  if (action !== 'auto' && action !== 'generate') {
    const message = `${param}.action: got ${JSON.stringify(action.slice(0, 64))}, want auto or generate`;
    throw new InvalidTextRequest(`${param}.action`, message, 'unsupported_value');
  }
  if ((tool.partial_images ?? 0) > 0 && body['stream'] !== true) {
    const message = `${param}.partial_images: there are partial images only in a stream; send stream: true`;
    throw new InvalidTextRequest(`${param}.partial_images`, message, 'unsupported_value');
  }
  const fields = IMAGE_FIELDS.flatMap((name) => {
    const value = tool[name] ?? undefined;
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    param,
    offered: imageFunction(functionName),
    model: given(tool.model),
    fields: Object.fromEntries(fields),
    maxImages: Math.min(MAX_IMAGES, given<number>(body['max_tool_calls']) ?? MAX_IMAGES),
  };
}

function notEdited(param: string): InvalidTextRequest {
  const message = `unsupported parameter: ${param}: images are generated, and not edited; use /v1/images/edits`;
  return new InvalidTextRequest(param, message, 'unsupported_parameter');
}

/** A name for the function that none of the client's functions has. */
export function imageFunctionName(functions: readonly FunctionTool[]): string {
  const taken = new Set(functions.map(({ name }) => name));
  for (let number = 2, name = IMAGE_TOOL; ; number++) {
    if (!taken.has(name)) return name;
    name = `${IMAGE_TOOL}_${number}`;
  }
}

function imageFunction(name: string): FunctionTool {
  return {
    name,
    description:
      'Generates one image, for example to draw a picture, to paint, or to make a photo or an illustration, and shows it to the user.',
    parameters: {
      type: 'object',
      properties: {
        prompt: { type: 'string', description: 'A complete description of the image.' },
      },
      required: ['prompt'],
      additionalProperties: false,
    },
  };
}

/** The arguments of a call of the function; undefined: the model wrote something else. */
export function promptOf(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('prompt' in value)) return undefined;
    return typeof value.prompt === 'string' && value.prompt.trim() !== '' ? value.prompt : undefined;
  } catch {
    return undefined;
  }
}
