/** Functions as the user edits them, which may not be valid yet. */
import type { ToolDefinition } from '../../../api/text.ts';

export interface ToolDraft {
  readonly key: number;
  readonly name: string;
  readonly description: string;
  /** JSON, possibly incomplete. */
  readonly parameters: string;
}

const NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** Its errors, by field. */
export interface ToolErrors {
  readonly isNameWrong: boolean;
  readonly isNameTaken: boolean;
  readonly areParametersWrong: boolean;
}

export function validateTool(draft: ToolDraft, all: readonly ToolDraft[]): ToolErrors {
  return {
    isNameWrong: !NAME.test(draft.name),
    isNameTaken: all.some((other) => other.key < draft.key && other.name === draft.name),
    areParametersWrong: objectOf(draft.parameters) === undefined,
  };
}

function isGood(draft: ToolDraft, all: readonly ToolDraft[]): boolean {
  return Object.values(validateTool(draft, all)).every((isWrong) => isWrong === false);
}

export function areToolsGood(drafts: readonly ToolDraft[]): boolean {
  return drafts.every((draft) => isGood(draft, drafts));
}

/** The drafts that are valid. */
export function toolsOf(drafts: readonly ToolDraft[]): readonly ToolDefinition[] {
  return drafts.filter((draft) => isGood(draft, drafts)).map(definitionOf);
}

function definitionOf({ name, description, parameters }: ToolDraft): ToolDefinition {
  const schema = objectOf(parameters);
  return {
    name,
    ...(description.trim() === '' ? {} : { description }),
    ...(schema === undefined ? {} : { parameters: schema }),
  };
}

function objectOf(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = JSON.parse(json) as unknown;
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
