/** Functions that the model may call, each with the JSON Schema of its arguments. */
import { ActionIcon, Button, Fieldset, Group, Stack, Text, TextInput, Textarea } from '@mantine/core';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import type { ToolDefinition } from '../../../api/text.ts';
import { texts } from '../../../texts/chat.ts';

interface ToolDraft {
  readonly key: number;
  readonly name: string;
  readonly description: string;
  /** JSON, or what is to become it. */
  readonly parameters: string;
}

const NAME = /^[A-Za-z0-9_.-]{1,64}$/;
const EXAMPLE_PARAMETERS = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
};

interface ToolsFormProps {
  /** Told of those that are as they must be. */
  readonly onChange: (tools: readonly ToolDefinition[]) => void;
  readonly onGood: (areGood: boolean) => void;
}

export function ToolsForm({ onChange, onGood }: ToolsFormProps) {
  const [drafts, setDrafts] = useState<readonly ToolDraft[]>([]);
  const change = (next: readonly ToolDraft[]): void => {
    setDrafts(next);
    onChange(next.filter((draft) => isGood(draft, next)).map(definitionOf));
    onGood(next.every((draft) => isGood(draft, next)));
  };
  const add = (): void =>
    change([
      ...drafts,
      {
        key: Math.max(0, ...drafts.map(({ key }) => key)) + 1,
        name: drafts.length === 0 ? texts.toolExample.name : '',
        description: drafts.length === 0 ? texts.toolExample.description : '',
        parameters: JSON.stringify(EXAMPLE_PARAMETERS, null, 2),
      },
    ]);
  return (
    <Fieldset legend={texts.toolsTitle}>
      <Text size="sm" mb="sm">
        {texts.toolsHint}
      </Text>
      <Stack gap="lg">
        {drafts.map((draft, place) => (
          <ToolEditor
            key={draft.key}
            draft={draft}
            number={place + 1}
            isNameTaken={isNameTaken(draft, drafts)}
            onChange={(next) => change(drafts.map((each) => (each.key === draft.key ? next : each)))}
            onRemove={() => change(drafts.filter(({ key }) => key !== draft.key))}
          />
        ))}
        <Button size="xs" variant="default" onClick={add} leftSection={<IconPlus size={14} aria-hidden />} mr="auto">
          {texts.addTool}
        </Button>
      </Stack>
    </Fieldset>
  );
}

function ToolEditor(props: {
  readonly draft: ToolDraft;
  readonly number: number;
  readonly isNameTaken: boolean;
  readonly onChange: (draft: ToolDraft) => void;
  readonly onRemove: () => void;
}) {
  const { draft, number, onChange } = props;
  return (
    <Stack gap="xs" role="group" aria-label={texts.tool(number)}>
      <Group align="flex-start" gap="xs" wrap="nowrap">
        <TextInput
          flex={1}
          label={texts.toolName}
          value={draft.name}
          onChange={({ currentTarget }) => onChange({ ...draft, name: currentTarget.value })}
          error={!NAME.test(draft.name) ? texts.toolNameError : props.isNameTaken ? texts.toolNameTaken : undefined}
        />
        <ActionIcon
          variant="default"
          size="lg"
          mt={24}
          onClick={props.onRemove}
          aria-label={texts.removeTool(draft.name || String(number))}
        >
          <IconTrash size={16} />
        </ActionIcon>
      </Group>
      <TextInput
        label={texts.toolDescription}
        value={draft.description}
        onChange={({ currentTarget }) => onChange({ ...draft, description: currentTarget.value })}
      />
      <Textarea
        label={texts.toolParameters}
        autosize
        minRows={4}
        maxRows={14}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
        spellCheck={false}
        value={draft.parameters}
        onChange={({ currentTarget }) => onChange({ ...draft, parameters: currentTarget.value })}
        error={objectOf(draft.parameters) === undefined ? texts.toolParametersError : undefined}
      />
    </Stack>
  );
}

function isGood(draft: ToolDraft, all: readonly ToolDraft[]): boolean {
  return NAME.test(draft.name) && !isNameTaken(draft, all) && objectOf(draft.parameters) !== undefined;
}

function isNameTaken({ key, name }: ToolDraft, all: readonly ToolDraft[]): boolean {
  return all.some((other) => other.key < key && other.name === name);
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
