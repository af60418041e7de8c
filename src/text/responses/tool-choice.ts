/**
 * The tools of a request and which of them may be called (contract §9). Built-in tools are refused by their type: no
 * code, search or other server runs beside a text model here.
 */
import { functionTool, namedTool, refuseDuplicates, toolChoiceWord } from '../parameters.ts';
import type { FunctionTool, ToolChoice } from '../request.ts';
import { InvalidTextRequest } from '../text-failure.ts';
import type { WireTool } from './request-schema.ts';

type WireChoice = string | Readonly<Record<string, unknown>>;

/** @throws {InvalidTextRequest} */
export function decodeTools(tools: readonly WireTool[]): readonly FunctionTool[] {
  const decoded = tools.map((tool, place) => {
    if (tool.type !== 'function') throw builtIn(tool.type, `tools.${place}.type`);
    return functionTool(tool);
  });
  refuseDuplicates(decoded);
  return decoded;
}

function builtIn(type: string, param: string): InvalidTextRequest {
  const shown = JSON.stringify(type.slice(0, 64));
  const message = `unsupported parameter: ${param}: got ${shown}, and only "function" is supported`;
  return new InvalidTextRequest(param, message, 'unsupported_parameter');
}

/** What of the tools is left to the model, and what it has to do with them. */
export interface ToolRules {
  readonly tools: readonly FunctionTool[];
  readonly toolChoice: ToolChoice;
}

/**
 * `allowed_tools` is a hard constraint (Open Responses): a tool that is not among them is kept from the model.
 *
 * @throws {InvalidTextRequest}
 */
export function decodeToolChoice(choice: WireChoice | undefined, tools: readonly FunctionTool[]): ToolRules {
  if (choice === undefined) return { tools, toolChoice: tools.length > 0 ? 'auto' : 'none' };
  if (typeof choice === 'string') return { tools, toolChoice: toolChoiceWord(choice, tools) };
  const type = typeof choice['type'] === 'string' ? choice['type'] : undefined;
  if (type === undefined) throw wrongChoice();
  if (type === 'allowed_tools') return allowedTools(choice, tools);
  if (type !== 'function') throw builtIn(type, 'tool_choice.type');
  const { name } = choice;
  if (typeof name !== 'string') {
    const missing = 'tool_choice.name';
    throw new InvalidTextRequest(
      missing,
      `invalid request: missing property: ${missing}`,
      'missing_required_parameter',
    );
  }
  return { tools, toolChoice: namedTool(name, tools, 'tool_choice.name') };
}

function wrongChoice(): InvalidTextRequest {
  const message = 'tool_choice: want auto, none, required, {"type":"function","name":…} or {"type":"allowed_tools",…}';
  return new InvalidTextRequest('tool_choice', message);
}

function allowedTools(choice: Readonly<Record<string, unknown>>, tools: readonly FunctionTool[]): ToolRules {
  const { mode = 'auto', tools: allowed } = choice;
  if (!Array.isArray(allowed) || allowed.length === 0) {
    const message = 'tool_choice.tools: want at least one {"type":"function","name":…}';
    throw new InvalidTextRequest('tool_choice.tools', message);
  }
  if (mode !== 'auto' && mode !== 'required' && mode !== 'none') {
    throw new InvalidTextRequest('tool_choice.mode', 'tool_choice.mode: want auto, required or none');
  }
  const names = new Set<string>();
  allowed.forEach((entry: unknown, place) => {
    const { type, name } = (typeof entry === 'object' && entry !== null ? entry : {}) as Record<string, unknown>;
    const where = `tool_choice.tools.${place}`;
    if (typeof type === 'string' && type !== 'function') throw builtIn(type, `${where}.type`);
    if (typeof name !== 'string') {
      throw new InvalidTextRequest(`${where}.name`, `${where}.name: want the name of a function`);
    }
    namedTool(name, tools, `${where}.name`);
    names.add(name);
  });
  return { tools: tools.filter(({ name }) => names.has(name)), toolChoice: mode };
}
