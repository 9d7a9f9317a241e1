#!/usr/bin/env escript
%% Evaluates expressions on RabbitMQ nodes, as `rabbitmqctl eval` does, without a start for each.
%%! -hidden -sname control@localhost -start_epmd false -kernel net_setuptime 3
%%
%% Reads terms from standard input, one a line, and answers in any order:
%%   {eval, Id, Node, Cookie, Text, Ms}.        done Id Value | failed Id Reason
%%   {write, Id, Node, Cookie, Prefix, Pause}.  ack Id Node Name Milliseconds, ...; done Id Count
%%   {stop, Id}.                                ends a writer after its declaration
%%   {publish, Id, Port, Type, Queue, Count}.   done Id Confirmed: persistent messages to a queue
%%                                              of this x-queue-type, which is declared first
%%   {confirm, Id, Port, Queue, Mark, Count}.   done Id Numbers: those of the messages "Mark:Number;"
%%                                              to a quorum queue that were confirmed, one by one
%%   {look, Id, Port, Queue}.                   done Id Bodies, or failed Id Reason: all messages
%%                                              of a queue, which stay in it
-mode(compile).

main([Plugins]) ->
    code:add_pathsa(filelib:wildcard(Plugins ++ "/*/ebin")),
    {ok, _} = application:ensure_all_started(amqp_client),
    listen().

listen() ->
    case io:get_line("") of
        eof ->
            halt(0);
        Line ->
            {ok, Tokens, _} = erl_scan:string(Line),
            {ok, Term} = erl_parse:parse_term(Tokens),
            handle(Term),
            listen()
    end.

handle({stop, Id}) ->
    catch writer(Id) ! stop;
handle({eval, Id, Node, Cookie, Text, Ms}) ->
    erlang:set_cookie(Node, Cookie),
    spawn(fun() -> evaluate(Id, Node, Text, Ms) end);
handle({publish, Id, Port, Type, Queue, Count}) ->
    spawn(fun() ->
        case catch publish(Port, Type, Queue, Count) of
            Confirmed when is_integer(Confirmed) -> io:format("done ~w ~w~n", [Id, Confirmed]);
            Reason -> io:format("failed ~w ~0tp~n", [Id, Reason])
        end
    end);
handle({confirm, Id, Port, Queue, Mark, Count}) ->
    spawn(fun() -> io:format("done ~w ~w~n", [Id, confirm(Port, Queue, Mark, Count)]) end);
handle({look, Id, Port, Queue}) ->
    spawn(fun() ->
        case catch look(Port, list_to_binary(Queue)) of
            {ok, Bodies} -> io:format("done ~w ~s~n", [Id, lists:join(" ", Bodies)]);
            Reason -> io:format("failed ~w ~0tp~n", [Id, Reason])
        end
    end);
handle({write, Id, Node, Cookie, Prefix, Pause}) ->
    erlang:set_cookie(Node, Cookie),
    Pid = spawn(fun() -> write(Id, Node, Prefix, Pause, 0) end),
    register(writer(Id), Pid).

evaluate(Id, Node, Text, Ms) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, Expressions} = erl_parse:parse_exprs(Tokens),
    case rpc:call(Node, erl_eval, exprs, [Expressions, []], Ms) of
        {value, Value, _} -> io:format("done ~w ~0tp~n", [Id, Value]);
        Reason -> io:format("failed ~w ~0tp~n", [Id, Reason])
    end.

%% A writer ends when it gets `stop`, or when a declaration fails.
write(Id, Node, Prefix, Pause, Count) ->
    Name = Prefix ++ "-" ++ integer_to_list(Count),
    Resource = {resource, <<"/">>, exchange, list_to_binary(Name)},
    Arguments = [Resource, fanout, true, false, false, [], <<"client">>],
    case rpc:call(Node, rabbit_exchange, declare, Arguments, 10000) of
        {badrpc, _} ->
            io:format("done ~w ~w~n", [Id, Count]);
        _ ->
            Now = erlang:system_time(millisecond),
            io:format("ack ~w ~s ~s ~w~n", [Id, Node, Name, Now]),
            receive
                stop -> io:format("done ~w ~w~n", [Id, Count + 1])
            after Pause ->
                write(Id, Node, Prefix, Pause, Count + 1)
            end
    end.

%% Uses RabbitMQ's own client; unless all messages are confirmed, none counts.
publish(Port, Type, Queue, Count) ->
    {ok, Uri} = amqp_uri:parse(uri(Port)),
    {ok, Connection} = amqp_connection:start(Uri),
    {ok, Channel} = amqp_connection:open_channel(Connection),
    Name = list_to_binary(Queue),
    Arguments = [{<<"x-queue-type">>, longstr, list_to_binary(Type)}],
    Declare = {'queue.declare', 0, Name, false, true, false, false, false, Arguments},
    {'queue.declare_ok', Name, _, _} = amqp_channel:call(Channel, Declare),
    {'confirm.select_ok'} = amqp_channel:call(Channel, {'confirm.select', false}),
    Persistent = setelement(5, erlang:make_tuple(15, undefined, [{1, 'P_basic'}]), 2),
    Publish = {'basic.publish', 0, <<>>, Name, false, false},
    [
        amqp_channel:call(Channel, Publish, {amqp_msg, Persistent, integer_to_binary(Number)})
     || Number <- lists:seq(1, Count)
    ],
    Confirmed =
        case amqp_channel:wait_for_confirms(Channel, 10) of
            true -> Count;
            _ -> 0
        end,
    catch amqp_connection:close(Connection, 2000),
    Confirmed.

%% A message counts once its confirmation has come, even if others get none.
confirm(Port, Queue, Mark, Count) ->
    process_flag(trap_exit, true),
    Self = self(),
    spawn_link(fun() -> Self ! {ended, catch publish_each(Self, Port, Queue, Mark, Count)} end),
    confirmed(Count, []).

confirmed(Count, Numbers) when length(Numbers) =:= Count ->
    Numbers;
confirmed(Count, Numbers) ->
    receive
        {'basic.ack', Tag, true} ->
            confirmed(Count, lists:usort(lists:seq(1, Tag) ++ Numbers));
        {'basic.ack', Tag, false} ->
            confirmed(Count, lists:usort([Tag | Numbers]));
        {ended, sent} ->
            confirmed(Count, Numbers);
        {ended, _} ->
            Numbers
    after 20000 ->
        Numbers
    end.

publish_each(Owner, Port, Queue, Mark, Count) ->
    {ok, Uri} = amqp_uri:parse(uri(Port)),
    {ok, Connection} = amqp_connection:start(Uri),
    {ok, Channel} = amqp_connection:open_channel(Connection),
    Name = list_to_binary(Queue),
    Declare =
        {'queue.declare', 0, Name, false, true, false, false, false, [
            {<<"x-queue-type">>, longstr, <<"quorum">>}
        ]},
    {'queue.declare_ok', Name, _, _} = amqp_channel:call(Channel, Declare),
    {'confirm.select_ok'} = amqp_channel:call(Channel, {'confirm.select', false}),
    ok = amqp_channel:register_confirm_handler(Channel, Owner),
    Persistent = setelement(5, erlang:make_tuple(15, undefined, [{1, 'P_basic'}]), 2),
    Publish = {'basic.publish', 0, <<>>, Name, false, false},
    [
        begin
            Body = iolist_to_binary([Mark, $:, integer_to_list(Number), $;]),
            ok = amqp_channel:call(Channel, Publish, {amqp_msg, Persistent, Body})
        end
     || Number <- lists:seq(1, Count)
    ],
    timer:sleep(20000),
    catch amqp_connection:close(Connection, 2000),
    sent.

look(Port, Queue) ->
    {ok, Uri} = amqp_uri:parse(uri(Port)),
    {ok, Connection} = amqp_connection:start(Uri),
    {ok, Channel} = amqp_connection:open_channel(Connection),
    Bodies = bodies(Channel, {'basic.get', 0, Queue, false}, []),
    %% The messages are not acknowledged, so they go back to the queue.
    catch amqp_connection:close(Connection, 2000),
    {ok, Bodies}.

%% A quorum queue answers "empty" only when its leader has no message that is ready.
bodies(Channel, Get, Bodies) ->
    case amqp_channel:call(Channel, Get) of
        {'basic.get_empty', _} -> lists:reverse(Bodies);
        {GetOk, {amqp_msg, _, Body}} when element(1, GetOk) =:= 'basic.get_ok' ->
            bodies(Channel, Get, [Body | Bodies])
    end.

%% The mechanism is named because 4.3 does not offer the one that the client would try first.
uri(Port) ->
    "amqp://guest:guest@127.0.0.1:" ++ integer_to_list(Port) ++ "?auth_mechanism=plain".

writer(Id) -> list_to_atom("writer" ++ integer_to_list(Id)).
