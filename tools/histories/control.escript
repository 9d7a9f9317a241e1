#!/usr/bin/env escript
%% Asks RabbitMQ nodes to do things, as `rabbitmqctl eval` does, without a start for each question.
%%! -hidden -sname control@localhost -start_epmd false -kernel net_setuptime 3
%%
%% Reads terms from standard input, one a line, and answers in any order:
%%   {eval, Id, Node, Cookie, Text, Ms}.        done Id Value | failed Id Reason
%%   {write, Id, Node, Cookie, Prefix, Pause}.  ack Id Node Name Milliseconds, ...; done Id Count
%%   {stop, Id}.                                ends a writer after its declaration
-mode(compile).

main([]) ->
    case io:get_line("") of
        eof ->
            halt(0);
        Line ->
            {ok, Tokens, _} = erl_scan:string(Line),
            {ok, Term} = erl_parse:parse_term(Tokens),
            handle(Term),
            main([])
    end.

handle({stop, Id}) ->
    catch writer(Id) ! stop;
handle({eval, Id, Node, Cookie, Text, Ms}) ->
    erlang:set_cookie(Node, Cookie),
    spawn(fun() -> evaluate(Id, Node, Text, Ms) end);
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

%% A writer ends when it is told to, and when a declaration fails.
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

writer(Id) -> list_to_atom("writer" ++ integer_to_list(Id)).
