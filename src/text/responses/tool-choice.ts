/**
 * The tools of a request and which of them may be called (contract §9). Built-in tools are rejected by their type: no
 * code, search or other server runs in addition to a text model here.
 */
import { allowedTools, builtInTool } from '../allowed-tools.ts';
import type { AllowedToolsForm, ToolRules } from '../allowed-tools.ts';
import { assertUniqueNames, functionTool, namedTool, toolChoiceWord } from '../parameters.ts';
import type { FunctionTool } from '../request.ts';
import { InvalidTextRequest } from '../text-failure.ts';
import type { WireTool } from '@darkroom/api/openai/responses-request';

type WireChoice = string | Readonly<Record<string, unknown>>;

/** @throws {InvalidTextRequest} */
export function decodeTools(tools: readonly WireTool[]): readonly FunctionTool[] {
  const decoded = tools.map((tool, index) => {
    if (tool.type !== 'function') throw builtInTool(tool.type, `tools.${index}.type`);
    return functionTool(tool);
  });
  assertUniqueNames(decoded);
  return decoded;
}

/** `none` and an omitted mode come from Open Responses. */
const ALLOWED_TOOLS: AllowedToolsForm = {
  path: 'tool_choice',
  modes: ['auto', 'required', 'none'],
  isModeOptional: true,
  nameMember: undefined,
};

/** @throws {InvalidTextRequest} */
export function decodeToolChoice(choice: WireChoice | undefined, tools: readonly FunctionTool[]): ToolRules {
  if (choice === undefined) return { tools, toolChoice: tools.length > 0 ? 'auto' : 'none' };
  if (typeof choice === 'string') return { tools, toolChoice: toolChoiceWord(choice, tools) };
  const type = typeof choice['type'] === 'string' ? choice['type'] : undefined;
  if (type === undefined) throw invalidToolChoice();
  if (type === 'allowed_tools') return allowedTools(choice, tools, ALLOWED_TOOLS);
  if (type !== 'function') throw builtInTool(type, 'tool_choice.type');
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

function invalidToolChoice(): InvalidTextRequest {
  const message = 'tool_choice: want auto, none, required, {"type":"function","name":…} or {"type":"allowed_tools",…}';
  return new InvalidTextRequest('tool_choice', message);
}
