"""Automations: rules that react to facts, and the rotation (*rodízio*) that hands a lead to a person.

**Rule, run, turn.** A rule says: on this event, if these conditions hold, do these actions. A run is one
execution of one rule for one event; the database holds one per pair. A turn is one hand-over of the
rotation; the database holds one per rule and event.

**What is authoritative.** The stored rule: the queue is read from it at the moment of the turn, under a
lock, so that a change made a moment ago is obeyed. The history of turns decides who is next; nothing
else remembers it. The live owner is the lead's.

**What may run twice.** The whole run: its worker may die anywhere. An action and its result are one
transaction, recorded under the action's number, so a second run goes on behind the last result. The turn
is one statement; a second call for the same event returns the first one's turn.

**Why two leads cannot go to one person.** Lock, choice, history and owner are one transaction
(functions/fn_automation_rodizio_atribuir.sql). No network is touched while the lock is held: the push
reacts to `lead.assigned`, after the commit.

**What a rule does not do.** Set off rules: a fact that a rule caused carries `caused_by_rule`.
"""
