/**
 * The tools of a request and which of them may be called (contract §9). The built-in tool `image_generation` becomes a
 * function; others are rejected by their type, because no code, search or other server runs in addition to a text
 * model here.
 */
import type { WireImageTool } from '@darkroom/api/openai/image-generation-tool';
import type { WireTool } from '@darkroom/api/openai/responses-request';
import { memberOf } from '../../domain/json.ts';
import {
  allowedTools,
  builtInTool,
  assertUniqueNames,
  functionTool,
  namedTool,
  toolChoiceWord,
} from '../parameters.ts';
import type { AllowedToolsForm, ToolRules } from '../parameters.ts';
import type { FunctionTool } from '../request.ts';
import { InvalidTextRequest } from '../text-failure.ts';
import { IMAGE_TOOL, decodeImageTool, imageFunctionName } from '../tools/image-tool.ts';
import type { RequestedImageTool } from '../tools/image-tool.ts';

type Members = Readonly<Record<string, unknown>>;
type WireChoice = string | Readonly<Record<string, unknown>>;

/** The tools of a request. */
export interface DecodedTools {
  readonly functions: readonly FunctionTool[];
  /** The built-in tool, if the request has it. */
  readonly image: RequestedImageTool | undefined;
  /** The name of the function that the built-in tool is to a model. */
  readonly imageFunction: string;
}

/** @param body of the request. @throws {InvalidTextRequest} */
export function decodeTools(tools: readonly WireTool[], body: Members): DecodedTools {
  const functions: FunctionTool[] = [];
  const images: (readonly [WireImageTool, number])[] = [];
  for (const [index, tool] of tools.entries()) {
    if (tool.type === IMAGE_TOOL) images.push([tool, index]);
    else if (tool.type === 'function') functions.push(functionTool(tool));
    else throw builtInTool(typeOf(tool), `tools.${index}.type`, true);
  }
  assertUniqueNames(functions);
  const imageFunction = imageFunctionName(functions);
  const [first, second] = images;
  if (second !== undefined) {
    const param = `tools.${second[1]}`;
    throw new InvalidTextRequest(param, `${param}: the request has the tool ${IMAGE_TOOL} already`);
  }
  const image = first === undefined ? undefined : decodeImageTool(...first, imageFunction, body);
  return { functions, image, imageFunction };
}

/** The type of a tool that the schema does not know. */
function typeOf(tool: { readonly type?: unknown }): string {
  return String(tool.type);
}

/** `none` and an omitted mode come from Open Responses. */
const ALLOWED_TOOLS: AllowedToolsForm = {
  path: 'tool_choice',
  modes: ['auto', 'required', 'none'],
  isModeOptional: true,
  nameMember: undefined,
};

/** @throws {InvalidTextRequest} */
export function decodeToolChoice(choice: WireChoice | undefined, { functions, image }: DecodedTools): ToolRules {
  const tools = image === undefined ? functions : [...functions, image.offered];
  if (choice === undefined) return { tools, toolChoice: tools.length > 0 ? 'auto' : 'none' };
  if (typeof choice === 'string') return { tools, toolChoice: toolChoiceWord(choice, tools) };
  const type = typeof choice['type'] === 'string' ? choice['type'] : undefined;
  if (type === undefined) throw invalidToolChoice();
  if (type === 'allowed_tools') return allowedOf(choice, tools, image);
  if (type === IMAGE_TOOL) return { tools, toolChoice: { name: offeredBy(image, 'tool_choice.type') } };
  if (type !== 'function') throw builtInTool(type, 'tool_choice.type', true);
  const { name } = choice;
  if (typeof name !== 'string') {
    const missing = 'tool_choice.name';
    throw new InvalidTextRequest(
      missing,
      `invalid request: missing property: ${missing}`,
      'missing_required_parameter',
    );
  }
  return { tools, toolChoice: namedTool(name, functions, 'tool_choice.name') };
}

/** The function that the built-in tool is. @throws {InvalidTextRequest} the request does not have the tool. */
function offeredBy(image: RequestedImageTool | undefined, param: string): string {
  if (image !== undefined) return image.offered.name;
  throw new InvalidTextRequest(param, `${param}: ${IMAGE_TOOL} is not among the tools`);
}

/** Entries may be the built-in tool; its function has no name that a client could use. */
function allowedOf(choice: Members, tools: readonly FunctionTool[], image: RequestedImageTool | undefined): ToolRules {
  if (!Array.isArray(choice['tools'])) return allowedTools(choice, tools, ALLOWED_TOOLS);
  const entries = choice['tools'].map((entry: unknown, index): unknown => {
    if (memberOf(entry, 'type') === IMAGE_TOOL) {
      return { type: 'function', name: offeredBy(image, `tool_choice.tools.${index}.type`) };
    }
    const name = memberOf(entry, 'name');
    return name !== undefined && name === image?.offered.name ? { type: 'function', name: '' } : entry;
  });
  return allowedTools({ ...choice, tools: entries }, tools, ALLOWED_TOOLS);
}

function invalidToolChoice(): InvalidTextRequest {
  const message =
    'tool_choice: want auto, none, required, {"type":"function","name":…}, {"type":"image_generation"} or {"type":"allowed_tools",…}';
  return new InvalidTextRequest('tool_choice', message);
}
