/**
 * `tool_choice` of type `allowed_tools` (contract §9), which both endpoints have, each with its members in a different
 * position. It is a hard constraint (Open Responses): a tool that is not among them is withheld from the model, so
 * that neither an upstream that does not know the type nor the offline text model can call one.
 */
import { given, namedTool } from './parameters.ts';
import type { FunctionTool, TextRequest, ToolChoice } from './request.ts';
import { InvalidTextRequest } from './text-failure.ts';

type Members = Readonly<Record<string, unknown>>;

/** The tools that the model may use, and how it has to use them. */
export interface ToolRules {
  readonly tools: readonly FunctionTool[];
  readonly toolChoice: ToolChoice;
}

/** The position of the members in an endpoint's request, and which of them it accepts. */
export interface AllowedToolsForm {
  /** The field that contains `mode` and `tools`. */
  readonly path: string;
  /** The default is the first, if there is one. */
  readonly modes: readonly ('auto' | 'required' | 'none')[];
  readonly isModeOptional: boolean;
  /** The member of an entry that contains its name; undefined: the entry itself. */
  readonly nameMember: 'function' | undefined;
}

/** @throws {InvalidTextRequest} naming the field. */
export function allowedTools(
  { mode, tools: allowed }: Members,
  tools: readonly FunctionTool[],
  form: AllowedToolsForm,
): ToolRules {
  const { path, nameMember } = form;
  const toolChoice = modeOf(given(mode), form);
  if (!Array.isArray(allowed) || allowed.length === 0) {
    const example =
      nameMember === undefined ? '{"type":"function","name":…}' : '{"type":"function","function":{"name":…}}';
    throw new InvalidTextRequest(`${path}.tools`, `${path}.tools: want at least one ${example}`);
  }
  const names = new Set<string>();
  allowed.forEach((entry: unknown, index) => {
    const at = `${path}.tools.${index}`;
    const { type } = membersOf(entry);
    if (typeof type === 'string' && type !== 'function')
      throw builtInTool(type, `${at}.type`, nameMember === undefined);
    const { name } = nameMember === undefined ? membersOf(entry) : membersOf(membersOf(entry)[nameMember]);
    const nameAt = nameMember === undefined ? `${at}.name` : `${at}.${nameMember}.name`;
    if (typeof name !== 'string') throw new InvalidTextRequest(nameAt, `${nameAt}: want the name of a function`);
    namedTool(name, tools, nameAt);
    names.add(name);
  });
  return { tools: tools.filter(({ name }) => names.has(name)), toolChoice };
}

function modeOf(mode: unknown, { path, modes, isModeOptional }: AllowedToolsForm): ToolChoice {
  const [usual] = modes;
  if (mode === undefined && isModeOptional && usual !== undefined) return usual;
  const known = modes.find((each) => each === mode);
  if (known !== undefined) return known;
  const code = mode === undefined ? 'missing_required_parameter' : 'invalid_value';
  throw new InvalidTextRequest(`${path}.mode`, `${path}.mode: want one of ${modes.join(', ')}`, code);
}

function membersOf(value: unknown): Members {
  return (typeof value === 'object' && value !== null ? value : {}) as Members;
}

/**
 * The error for a tool that would run on the server, and that is not there.
 *
 * @param isOfResponse responses have one such tool, chat completions have none.
 */
export function builtInTool(type: string, param: string, isOfResponse: boolean): InvalidTextRequest {
  const shown = JSON.stringify(type.slice(0, 64));
  const supported = isOfResponse ? '"function" and "image_generation" are' : '"function" is';
  const message = `unsupported parameter: ${param}: got ${shown}, and only ${supported} supported`;
  return new InvalidTextRequest(param, message, 'unsupported_parameter');
}

/**
 * A client's body with `allowed_tools` expressed in terms that every server supports: the other tools are left out. The
 * hold is for that body, too (money/input-bound.ts).
 */
export function withAllowedTools(body: Members, { tools: allowed, toolChoice }: TextRequest): Members {
  const { tools, tool_choice: choice } = body;
  if (membersOf(choice)['type'] !== 'allowed_tools' || !Array.isArray(tools)) return body;
  const names = new Set<unknown>(allowed.map(({ name }) => name));
  const left = tools.filter((tool: unknown) => {
    const members = membersOf(tool);
    return names.has(membersOf(members['function'])['name'] ?? members['name']);
  });
  return { ...body, tools: left, tool_choice: toolChoice };
}
