/** The playground of a text model: a conversation and, next to it, its settings. */
import { Button, Grid, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { IconMessage2, IconMessagePlus } from '@tabler/icons-react';
import { useRef } from 'react';
import type { ModelDetail } from '../../../api/models.ts';
import { formatUsd } from '../../../components/money.ts';
import { EmptyState } from '../../../components/states.tsx';
import { useMemory } from '../../../session/memory.ts';
import { useSession } from '../../../session/session.tsx';
import { texts } from '../../../texts/chat.ts';
import { texts as playgroundTexts } from '../../../texts/playground.ts';
import { isTextPricing } from '../../models/price-words.ts';
import { RequestCodeTabs } from '../../models/request-code-tabs.tsx';
import { chatCode } from '../../models/request-code.ts';
import { ChatSettingsForm } from './chat-settings-form.tsx';
import { Composer } from './composer.tsx';
import { openCalls, requestFor, requestOfLastTurn } from './conversation.ts';
import type { ChatSettings } from './conversation.ts';
import { textCost } from './text-cost.ts';
import { areToolsGood } from './tool-drafts.ts';
import { TurnView } from './turn-view.tsx';
import { useConversation } from './use-conversation.ts';
import { useFollowing } from './use-following.ts';

const NO_SETTINGS: ChatSettings = { system: '', maxTokens: undefined, effort: '', tools: [] };

export default function TextPlayground({ model }: { readonly model: ModelDetail }) {
  const { baseUrl } = useSession();
  const [settings, changeSettings] = useMemory(`conversation settings ${model.id}`, NO_SETTINGS);
  const [draft, changeDraft] = useMemory(`conversation draft ${model.id}`, '');
  const setDraft = (text: string): void => changeDraft(() => text);
  const composer = useRef<HTMLTextAreaElement>(null);
  const section = useRef<HTMLElement>(null);
  const conversation = useConversation(model.id, settings);
  const { turns, isWriting } = conversation;
  useFollowing(composer, section);
  const { pricing } = model;
  const usages = turns.flatMap((turn) =>
    turn.who === 'model' && turn.answer.usage !== undefined ? [turn.answer.usage] : [],
  );
  const shownTurns = draft.trim() === '' ? turns : [...turns, { who: 'user', text: draft } as const];
  const request = requestFor(model.id, shownTurns, settings);
  const hasOpenCalls = openCalls(turns).length > 0;
  /** The pressed button disappears, and the focus would be lost. */
  const thenWrite =
    <Given extends readonly unknown[]>(act: (...given: Given) => void) =>
    (...given: Given): void => {
      act(...given);
      composer.current?.focus();
    };
  const send = (): void => {
    conversation.send(draft);
    setDraft('');
  };
  return (
    <Grid gap="lg">
      <Grid.Col span={{ base: 12, md: 8 }}>
        <Stack gap="lg">
          <Paper ref={section} withBorder p="md" component="section" aria-labelledby="chat-conversation">
            <Group justify="space-between" mb="sm">
              <Title order={2} size="h5" id="chat-conversation">
                {texts.conversation}
              </Title>
              {turns.length === 0 ? null : (
                <Button
                  size="compact-sm"
                  variant="default"
                  leftSection={<IconMessagePlus size={14} aria-hidden />}
                  onClick={thenWrite(conversation.clear)}
                >
                  {texts.clear}
                </Button>
              )}
            </Group>
            {turns.length === 0 ? (
              <EmptyState icon={<IconMessage2 size={32} aria-hidden />} title={texts.empty}>
                {texts.emptyHint}
              </EmptyState>
            ) : (
              <Stack gap="md" role="log" aria-labelledby="chat-conversation" aria-busy={isWriting} mb="md">
                {turns.map((turn, index) => (
                  <TurnView
                    key={index}
                    turn={turn}
                    pricing={pricing}
                    isLast={index === turns.length - 1}
                    onRetry={thenWrite(conversation.retry)}
                    onAnswer={thenWrite(conversation.answerCalls)}
                  />
                ))}
              </Stack>
            )}
            <Composer
              field={composer}
              value={draft}
              onChange={setDraft}
              onSend={thenWrite(send)}
              onStop={thenWrite(conversation.stop)}
              isWriting={isWriting}
              error={conversation.isFull ? texts.full : areToolsGood(settings.tools) ? undefined : texts.fixTools}
              isBlocked={hasOpenCalls}
            />
            {usages.length === 0 || !isTextPricing(pricing) ? null : (
              <Text size="sm" mt="xs">
                {texts.totalCost(formatUsd(textCost(pricing, usages)))}
              </Text>
            )}
          </Paper>
          <Paper withBorder p="md" component="section" aria-labelledby="chat-code">
            <Title order={2} size="h5" id="chat-code" mb="sm">
              {playgroundTexts.codeTitle}
            </Title>
            <RequestCodeTabs code={chatCode(baseUrl, { ...requestOfLastTurn(request) })} />
          </Paper>
        </Stack>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 4 }}>
        <ChatSettingsForm model={model} value={settings} onChange={(next) => changeSettings(() => next)} />
      </Grid.Col>
    </Grid>
  );
}
