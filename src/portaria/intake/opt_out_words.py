"""The vocabulary of the opt-out rule (`opt_out.py`): word class -> words, folded (no accents, lower case).

An entry of several words is written with underscores and wins over its parts. A word has one class only:
one that plays two parts (`para` is "stop!" and "to") has a class of its own.
"""

from typing import Final

LEXICON: Final[dict[str, str]] = {
    # Stopping verbs. …INF: infinitive. …NOW: command and third person look alike ("tira", "para").
    "STOP": "pare parem parasse parassem cesse cessem stop quit",
    "STOPINF": "parar pararem paro cessar cessarem",
    "LET": "deixe deixem deixassem",
    "LETINF": "deixar deixarem deixo",
    "PARA": "para",
    "LETNOW": "deixa",
    "LEAVE": "sair saio leave",
    "REMOVE": (
        "remova removam removessem exclua excluam excluissem apague apaguem delete deletem elimine eliminem"
    ),
    "TAKE": "tire tirem tirassem retire retirem retirassem",
    "REMOVEINF": "removo excluo remover removerem excluir excluirem apagar deletar eliminar",
    "TAKEINF": "tiro tirar tirarem retirar retirarem",
    "REMOVENOW": "remove exclui apaga deleta elimina",
    "TAKENOW": "tira retira take",
    "REMOVED": "removido removida retirado excluido excluida",
    "REMOVAL": "remocao exclusao",
    "TAKING": "retirada",
    "CANCEL": (
        "cancele cancelem suspenda suspendam interrompa interrompam encerre encerrem bloqueie bloqueiem "
        "desative desativem corte cortem"
    ),
    "CANCELINF": (
        "cancelo suspendo desativo cancelar cancelarem suspender interromper encerrar bloquear desativar "
        "cortar"
    ),
    "CANCELNOW": "cancela suspende interrompe encerra bloqueia desativa corta cancel",
    "CANCELLATION": "cancelamento suspensao interrupcao encerramento bloqueio",
    "CARRY": (
        "descadastrar descadastrarem descadastre descadastrem descadastra descadastro descadastramento "
        "desinscrever desinscreverem desinscreva desinscrevam desinscreve desinscrevo desinscricao "
        "unsubscribe optout opt_out opt_me_out"
    ),
    "CARRIED": "descadastrado descadastrada desinscrito desinscrita unsubscribed",
    "ENOUGH": "chega basta enough",
    "NOMORE": "sem_mais no_more",
    # Verbs of communication, by who acts. …SUBJ: subjunctive and formal command.
    "RECEIVE": (
        "receber recebe recebendo receba contatado contatada contactado contactada procurado procurada "
        "receive receiving get getting"
    ),
    "SEND": (
        "mandar mandando mandarem enviar enviando enviarem disparar disparando encaminhar encaminhando "
        "sending"
    ),
    "SENDSUBJ": (
        "mande mandem mandes mandassem envie enviem envies enviassem dispare disparem encaminhe "
        "encaminhem send"
    ),
    "SENDNOW": "manda envia dispara encaminha",
    "CALL": (
        "ligar ligando ligarem chamar chamando chamarem escrever escrevendo escreverem procurar "
        "procurando procurarem telefonar telefonando telefonarem contatar contatando contactar "
        "contactando falar_comigo falando_comigo messaging texting calling contacting writing spamming"
    ),
    "CALLSUBJ": (
        "ligue liguem chame chamem escreva escrevam procure procurem telefonem fale_comigo falem_comigo call"
    ),
    "CALLNOW": "liga chama escreve procura fala_comigo",
    "TOUCH": "contate contatem contacte contactem contact",
    "ENTER": "entrar entrando entrarem fazer_contato",
    "ENTERSUBJ": "entre entrem facam faca",
    "INTOUCH": "em_contato contato_comigo",
    "ARRIVE": "chegar chegando chegarem",
    "BOTHER": (
        "incomodar incomodando perturbar perturbando encher enchendo importunar importunando bombardear "
        "atormentar bothering"
    ),
    "NERVES": "saco paciencia cabeca",
    "BOTHERED": "incomodado incomodada perturbado perturbada importunado importunada",
    "TALK": "falar conversar atendimento atendente",
    # What is sent.
    "MSG": (
        "mensagem menssagem mesagem mensage mensagen mensag msg msgm torpedo notificacao comunicado text "
        "message"
    ),
    "MSGS": (
        "mensagens menssagens mesagens mensagems msgs sms spam spams torpedos notificacoes comunicados "
        "comunicacoes informativos texts messages"
    ),
    "ADS": "propaganda propagandas publicidade publicidades anuncio anuncios divulgacao divulgacoes ads",
    "PROMO": (
        "promocao promocoes promo promos oferta ofertas marketing conteudo conteudos novidades promotions "
        "offers"
    ),
    "NEWS": "newsletter newsletters mailing boletim",
    "CONTACT": "contato contatos",
    "ZAP": "whatsapp whats wpp zap zaps zapzap whatsap watsapp",
    "ANY": "nada anything coisa_nenhuma coisa_alguma qualquer_coisa porcaria_nenhuma merda_nenhuma",
    "ENVIO": "envio envios recebimento disparo disparos",
    "KIND": (
        "promocional promocionais publicitaria publicitarias comercial comerciais indesejada indesejadas "
        "chata chatas inconveniente inconvenientes inuteis insistentes"
    ),
    "BIZ": (
        "empresa loja lojas clinica escola academia restaurante farmacia salao marca companhia equipe "
        "consultorio imobiliaria operadora company store"
    ),
    "OTHERWAY": "ligacao ligacoes email emails audio audios telefonema",
    # Where from.
    "THERE": "dai daqui",
    "LIST": "lista listas list mailing_list",
    "STREAM": "transmissao",
    "BASE": "base base_de_dados banco_de_dados sistema cadastro cadastros database system",
    "SUBSCR": "inscricao",
    "NUM": "numero nmr number",
    "PHONE": "telefone celular fone tel cel phone",
    "NAME": "nome name",
    "CLIENT": "cliente clientes",
    # Volition and request.
    "DISMISS": "dispenso dispensamos recuso",
    "WANT": (
        "quero queremos desejamos gostariamos temos_interesse_em qro kero queria desejo desejaria "
        "gostaria pretendo tenho_interesse_em tenho_interesse_de tenho_mais_interesse_em "
        "tenho_mais_interesse_de tenho_interesse_nenhum_em tenho_nenhum_interesse_em estou_interessado_em "
        "estou_interessada_em estou_mais_interessado_em estou_mais_interessada_em tenho_vontade_de "
        "faco_questao_de faco_mais_questao_de want wish would_like id_like"
    ),
    "ALLOW": "autorizamos autorizo permito aceito concordo consinto",
    "PREFER": "prefiro preferia opto_por optar_por melhor",
    "ICAN": "tenho_que vou posso preciso devo irei",
    "CANT": "consigo aguento suporto sei",
    "MAY": "pode podem poderia poderiam podia podiam consegue conseguem can could",
    "WAY": "da_pra da_para tem_como teria_como ha_como tem_jeito_de e_possivel seria_possivel",
    "HOW": "como how faco fazer faz o_que link botao opcao procedimento caminho jeito",
    "ASK": "gentileza favor peco pedi solicito solicitei requeiro exijo pedir solicitar insisto",
    "TRIED": "tentei tento tentando",
    "SAID": "disse falei avisei digo repito",
    # Small words.
    "NEG": "nao naum n nn num nunca jamais nem dont never not do_not no_longer",
    "MORE": "mais + more further again anymore novamente de_novo outra_vez",
    "ME": "me nos mim comigo",
    "I": "eu i im ill",
    "YOU": "voce voces vc vcs ces ceis tu you u",
    "THAT": "que q",
    "DE": "com_isso_de de di d of",
    "TO": "to",
    "FROM": "da do das dos dessa desse desta deste dessas desses destas destes from off",
    "IN": "no na nas nesse nessa neste nesta pelo pela por pro pra p ao via em",
    "WITH": "com with",
    "MY": "meu minha meus minhas my",
    "DET": (
        "a o as os essa esse essas esses esta este estas estes sua seu suas seus um uma umas uns nenhuma "
        "nenhum qualquer quaisquer toda todas todos tipo_de novas novos nova outras outros any your the "
        "these those this"
    ),
    "AND": "e and",
    "BUT": "mas porem contudo but",
    "ONLY": "so somente apenas exceto menos salvo only e_sim mas_sim",
    "BE": (
        "ser seja sejam fosse fossem ter ficar ficarem fiquem fique ficando estar estarem continuar "
        "continuarem continuem continue seguir fazer_parte saber_de be"
    ),
    "AGAIN": "voltar_a voltem_a volte_a",
    "BENOW": "fica continua",
    "HERE": "aqui aki here",
    "NOW": "agora now right_now",
    "GREET": "oi oie ola opa alo bom_dia boa_tarde boa_noite tudo_bem td_bem tudo_bom hi hello hey",
    "POLITE": (
        "por_favor pfv pf pfvr por_gentileza por_obsequio obrigado obrigada obg obgd muito_obrigado "
        "muito_obrigada vlw valeu grato grata agradeco desde_ja att abraco abracos please pls thanks "
        "thank_you thank_you_very_much thx se_possivel se_puder se_puderem se_der se_for_possivel so_isso "
        "faca_o_favor_de facam_o_favor_de faz_o_favor_de fazer_o_favor_de desculpa desculpe com_licenca "
        "com_todo_respeito"
    ),
    "FILL": (
        "eh entao ja ai ae la olha olhe ei gente cara mano moca moco amigo amiga pessoal galera senhores "
        "serio aff affs porra caralho merda pqp ok okay blz certo tambem logo urgente urgentemente "
        "imediatamente las los por_parte da_parte viu hein ta tchau pelo_amor_de_deus meu_deus pelo_amor "
        "a_partir_de_hoje a_partir_de_agora de_jeito_nenhum de_forma_alguma de_maneira_alguma "
        "em_hipotese_alguma de_uma_vez de_uma_vez_por_todas toda_hora todo_dia todos_os_dias "
        "todo_santo_dia o_dia_todo o_dia_inteiro o_tempo_todo a_toda_hora sem_parar direto immediately"
    ),
    "REASON": (
        "conforme de_acordo porque pq pois porq senao caso_contrario ou_vou ou_eu ou_entao isso estou sou "
        "because"
    ),
    # What turns a phrase around.
    "HYPO": (
        "significa quer_dizer se caso quando talvez enquanto antes depois apos ate sem medo receio pensei "
        "pensando desisti ia iria evitar duvido imagina if when before after without"
    ),
    "THIRD": (
        "ele ela eles elas alguem ninguem quem mandou mandaram pediu pediram falou falaram disseram "
        "perguntou escreveu respondeu he she they"
    ),
    "GOING": "vai vao",
    "WANTS": "tem_que tem_de quer querem precisa precisam deve devem wants",
    "DONE": "consegui conseguiu conseguiram acabei",
    "LAUGH": "k kk haha hahaha hehe rs rsrs lol",
    "RENEW": "novo mudei troquei atualiza atualizem atualize coloca coloque",
    "UNDO": "mudei_de_ideia desconsidera desconsidere desconsiderem brincadeira brincando zoeira",
    "PROMPT": "responda respondam digite digitem clique cliquem aperte tecle reply",
    "TIME": (
        "hoje amanha ontem domingo sabado segunda noite madrugada manha tarde horario cedo semana mes feriado"
    ),
}

# Alone in the message these ask to leave.
KEYWORDS: Final = frozenset(
    {
        "stop",
        "parar",
        "pare",
        "parem",
        "sair",
        "cancelar",
        "remover",
        "descadastrar",
        "desinscrever",
        "unsubscribe",
        "optout",
        "opt out",
        "me remove",
        "me remova",
        "me removam",
        "remova me",
        "remove me",
        "me exclui",
        "me exclua",
        "me excluam",
    }
)
