/** The settings of a text model: system prompt, max output tokens, reasoning effort, and functions. */
import { NativeSelect, NumberInput, Paper, Stack, Textarea, Title } from '@mantine/core';
import type { ModelDetail } from '../../../api/models.ts';
import { texts } from '../../../texts/chat.ts';
import type { ChatSettings } from './conversation.ts';
import { ToolsForm } from './tools-form.tsx';

interface ChatSettingsFormProps {
  readonly model: ModelDetail;
  readonly value: ChatSettings;
  readonly onChange: (value: ChatSettings) => void;
}

export function ChatSettingsForm({ model, value, onChange }: ChatSettingsFormProps) {
  const { features = [], maxOutputTokens = 1 } = model.text ?? {};
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="chat-settings">
      <Title order={2} size="h5" id="chat-settings" mb="sm">
        {texts.settings}
      </Title>
      <Stack>
        <Textarea
          label={texts.system}
          description={texts.systemHint}
          autosize
          minRows={2}
          maxRows={10}
          value={value.system}
          onChange={({ currentTarget }) => onChange({ ...value, system: currentTarget.value })}
        />
        <NumberInput
          label={texts.maxTokens}
          description={texts.maxTokensHint(maxOutputTokens)}
          min={1}
          max={maxOutputTokens}
          allowDecimal={false}
          value={value.maxTokens ?? ''}
          onChange={(next) => onChange({ ...value, maxTokens: typeof next === 'number' ? next : undefined })}
        />
        {features.includes('reasoning') ? (
          <NativeSelect
            label={texts.effort}
            description={texts.effortHint}
            value={value.effort}
            onChange={({ currentTarget }) => onChange({ ...value, effort: currentTarget.value })}
            data={[
              { value: '', label: texts.effortDefault },
              ...Object.entries(texts.efforts).map(([effort, label]) => ({ value: effort, label })),
            ]}
          />
        ) : null}
        {features.includes('tools') ? (
          <ToolsForm drafts={value.tools} onChange={(tools) => onChange({ ...value, tools })} />
        ) : null}
      </Stack>
    </Paper>
  );
}
