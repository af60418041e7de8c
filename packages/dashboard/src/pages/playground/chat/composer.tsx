/** The input for messages to the model. */
import { Button, Group, Text, Textarea } from '@mantine/core';
import { IconPlayerStopFilled, IconSend } from '@tabler/icons-react';
import type { FormEvent, KeyboardEvent, Ref } from 'react';
import { texts } from '../../../texts/chat.ts';

interface ComposerProps {
  readonly field: Ref<HTMLTextAreaElement>;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly onSend: () => void;
  readonly onStop: () => void;
  readonly isWriting: boolean;
  /** Why nothing can be sent. */
  readonly error: string | undefined;
  /** The model waits for something else first. */
  readonly isBlocked: boolean;
}

export function Composer({ field, value, onChange, onSend, onStop, isWriting, error, isBlocked }: ComposerProps) {
  const canSend = value.trim() !== '' && !isWriting && !isBlocked && error === undefined;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (canSend) onSend();
  };
  const sendByKey = (event: KeyboardEvent): void => {
    // During text composition Enter completes the word.
    if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) submit(event);
  };
  return (
    <form onSubmit={submit}>
      <Textarea
        ref={field}
        label={texts.message}
        description={texts.messageHint}
        placeholder={texts.messagePlaceholder}
        autosize
        minRows={2}
        maxRows={12}
        value={value}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
        onKeyDown={sendByKey}
        error={error}
      />
      <Group justify="flex-end" mt="xs">
        {isWriting ? (
          <>
            <Text size="sm" aria-hidden>
              {texts.writing} …
            </Text>
            <Button variant="default" onClick={onStop} leftSection={<IconPlayerStopFilled size={16} aria-hidden />}>
              {texts.stop}
            </Button>
          </>
        ) : (
          <Button type="submit" disabled={!canSend} leftSection={<IconSend size={16} aria-hidden />}>
            {texts.send}
          </Button>
        )}
      </Group>
    </form>
  );
}
