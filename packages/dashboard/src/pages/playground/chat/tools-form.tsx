/** Functions that the model may call, each with the JSON Schema of its arguments. */
import { ActionIcon, Button, Fieldset, Group, Stack, Text, TextInput, Textarea } from '@mantine/core';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { texts } from '../../../texts/chat.ts';
import { validateTool } from './tool-drafts.ts';
import type { ToolDraft, ToolErrors } from './tool-drafts.ts';

const EXAMPLE_PARAMETERS = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
};

interface ToolsFormProps {
  readonly drafts: readonly ToolDraft[];
  readonly onChange: (drafts: readonly ToolDraft[]) => void;
}

export function ToolsForm({ drafts, onChange: change }: ToolsFormProps) {
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
        {drafts.map((draft, index) => (
          <ToolEditor
            key={draft.key}
            draft={draft}
            number={index + 1}
            errors={validateTool(draft, drafts)}
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
  readonly errors: ToolErrors;
  readonly onChange: (draft: ToolDraft) => void;
  readonly onRemove: () => void;
}) {
  const { draft, number, errors, onChange } = props;
  return (
    <Stack gap="xs" role="group" aria-label={texts.tool(number)}>
      <Group align="flex-start" gap="xs" wrap="nowrap">
        <TextInput
          flex={1}
          label={texts.toolName}
          value={draft.name}
          onChange={({ currentTarget }) => onChange({ ...draft, name: currentTarget.value })}
          error={errors.isNameWrong ? texts.toolNameError : errors.isNameTaken ? texts.toolNameTaken : undefined}
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
        error={errors.areParametersWrong ? texts.toolParametersError : undefined}
      />
    </Stack>
  );
}
